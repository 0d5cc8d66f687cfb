"""A plan of another tool on the screen: it is offered, shown as a table, and imported as it was shown."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ralph_tui.config.load import load_settings
from ralph_tui.domain.events import EventSink, LoopFinished
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.run.observer import follow_project
from ralph_tui.engine.run.plan_import import PlanImport
from ralph_tui.present.text.spans import plain
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.handlers.plan import ImportDialog, ImportFileDialog
from tests.harness.plain_list import install, installed
from tests.harness.projects import make_project, plan_of
from tests.tui.conftest import ralph, until

TEXT = "- [x] create: Create it\n- [ ] fill: Fill it `rm -rf ~/`\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def root(tmp_path: Path, site: Path) -> Iterator[Path]:
    with installed(site):
        yield make_project(tmp_path, [], files={"fix_plan.md": "x", "a.plain": TEXT})


def launch_of(root: Path) -> Launch:
    async def run(_: EventSink) -> LoopFinished:
        raise AssertionError("nobody asked for a run")

    async def request(_: str, sink: EventSink) -> LoopFinished:
        return await run(sink)

    async def watch(sink: EventSink) -> None:
        await follow_project(root, sink)

    controls = Controls(root)
    return Launch(
        root,
        controls,
        run,
        watch,
        warm_up=lambda: None,
        run_request=request,
        importer=lambda: PlanImport(controls, load_settings(root), base=root),
    )


@asynccontextmanager
async def opened(launch: Launch, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Pilot[int]]:
    async with RalphApp(launch).run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: ralph(pilot).view.is_known)
        yield pilot


def banner(app: RalphApp) -> str:
    shown = app.dashboard.banner.banner
    return "" if shown is None else plain(shown.advice)


async def test_an_empty_project_offers_what_is_there_instead_of_asking_for_a_request(
    root: Path,
) -> None:
    async with opened(launch_of(root)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: "fix_plan.md is a plan of another tool." in banner(app))
        assert "Press O to preview the import" in banner(app)
        assert app.screen is app.dashboard
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, ImportFileDialog))
        assert app.focused is not None
        assert getattr(app.focused, "value", "") == "fix_plan.md"


async def test_leaving_changes_nothing_and_a_plan_is_shown_and_imported(root: Path) -> None:
    async with opened(launch_of(root)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: bool(app.foreign_plans))
        for key in ("escape", "q"):
            await pilot.press("O")
            await until(pilot, lambda: isinstance(app.screen, ImportFileDialog))
            await pilot.press("ctrl+u", *"a.plain", "enter")
            await until(pilot, lambda: isinstance(app.screen, ImportDialog))
            await pilot.press(key)
            await until(pilot, lambda: app.screen is app.dashboard)
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, ImportFileDialog))
        await pilot.press("ctrl+u", *"nothing", "enter")
        await until(pilot, lambda: "does not exist" in hint(app))
        assert plan_of(root).tasks == ()
        await pilot.press("ctrl+u", *"a.plain", "enter")
        await until(pilot, lambda: isinstance(app.screen, ImportDialog))
        shown = app.screen
        assert isinstance(shown, ImportDialog)
        assert "Refused commands" in shown.full_text()
        await pilot.press("ctrl+y")
        await until(pilot, lambda: len(app.view.tasks) == 2)
        assert [t.is_unverified for t in plan_of(root).tasks] == [True, False]
        await until(pilot, lambda: "Ready to build. Next: fill" in headline(app))
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, ImportFileDialog))
        await pilot.press("ctrl+u", *"a.plain", "enter")
        await until(pilot, lambda: isinstance(app.screen, ImportDialog))
        before = plan_of(root)
        await pilot.press("ctrl+y")  # there is nothing to import
        await until(pilot, lambda: app.screen is app.dashboard)
        assert plan_of(root) == before


def hint(app: RalphApp) -> str:
    found = app.screen.query(".hint")
    return str(found.first().render()) if found else ""


def headline(app: RalphApp) -> str:
    shown = app.dashboard.banner.banner
    return "" if shown is None else shown.headline
