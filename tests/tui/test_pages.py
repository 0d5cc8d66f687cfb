"""The pages over the dashboard, driven by keys on a real journal."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual._compositor import LayoutUpdate
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.present.sections.iteration_lines import iteration_blocks
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.key_hints import key_label
from ralph_tui.present.text.spans import plain
from ralph_tui.store.project import Project
from ralph_tui.tui.commands.registry import PAGE_COMMANDS, PAGES
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.text_reader import ToolDetail
from ralph_tui.tui.screens.pages.features import FeaturesPage
from ralph_tui.tui.screens.pages.history import HistoryPage
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from ralph_tui.tui.screens.pages.memory import MemoryPage
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.screens.pages.settings import SettingsPage
from ralph_tui.tui.screens.pages.why import WhyPage
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, through_the_menu, until
from tests.tui.feed import Script
from tests.tui.past import past_project

CLASSES: dict[str, type[Page]] = {
    "iterations": IterationsPage,
    "history": HistoryPage,
    "memory": MemoryPage,
    "why": WhyPage,
    "settings": SettingsPage,
    "features": FeaturesPage,
}


@pytest.fixture
def past(tmp_path: Path) -> Script:
    return past_project(tmp_path / "slug-demo")


async def open_page(pilot: Pilot[int], key: str, text: str) -> Page:
    """Press a page's key, and wait until something is on it."""
    app = ralph(pilot)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, Page) and text in screen_text(app))
    assert isinstance(app.screen, Page)
    return app.screen


async def see(pilot: Pilot[int], *texts: str) -> None:
    app = ralph(pilot)
    try:
        await until(pilot, lambda: all(text in screen_text(app) for text in texts))
    except AssertionError:
        shown = screen_text(app)
        missing = [text for text in texts if text not in shown]
        pytest.fail(f"not on the screen: {missing}\n{shown}")


# What all pages have.


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_has_keys_of_its_own(name: str) -> None:
    commands = PAGE_COMMANDS[name]
    for command in commands:
        assert command.area
        assert command.help.endswith(".")
    keys = [key for command in commands for key in command.keys]
    assert len(keys) == len(set(keys))


UNSEEN = (
    "importlib.metadata",
    "ralph_tui.guard.sandbox.os_sandbox",
    "ralph_tui.engine.phases.build_loop",
)
"""What the first paint has no use for, and which would make it late."""


def test_the_first_paint_imports_no_page_and_nothing_it_does_not_show() -> None:
    code = (
        "import sys\n"
        "from ralph_tui.cli.main import start_lean\n"
        "start_lean()\n"
        "import ralph_tui.tui.app.app, ralph_tui.engine.run.launch_factory\n"
        f"print([m for m in sys.modules if m in {UNSEEN!r} or m.startswith('ralph_tui.tui.screens.')"
        " and m.rpartition('.')[2] in ('page', 'iterations', 'history', 'memory', 'why', 'settings')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_a_project_for_the_screen_imports_nothing_that_runs_it() -> None:
    heavy = ("ralph_tui.engine.context", "ralph_tui.engine.verification.gate")
    code = (
        "import sys, ralph_tui.engine.run.observer\n"
        "import ralph_tui.engine.verification.detection.project_checks\n"
        f"print([m for m in sys.modules if m in {heavy!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_nothing_is_drawn_for_what_a_page_hides(
    open_app: Open, past: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = 0

    def count(_: object, update: object) -> None:
        nonlocal whole
        whole += isinstance(update, LayoutUpdate)

    async with open_app(past) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "8", "this run")
        monkeypatch.setattr(app, "_display", count)
        for number in range(20):
            before = app.dashboard.stream.row_count()
            past.news.put_nowait(ev.Notice(text=f"hidden {number}"))
            await until(pilot, lambda n=before: app.dashboard.stream.row_count() > n)  # type: ignore[misc]  # the default binds the loop's value
            await pilot.pause()
        assert whole <= 2, "the page was drawn anew each time"
        monkeypatch.undo()
        await pilot.press("escape")
        await see(pilot, "hidden 19")


@pytest.mark.long
async def test_the_help_and_the_palette_know_the_keys_of_the_page(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False, size=(120, 60)) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "4", "every check passed")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        flat = " ".join(screen_text(app).replace("│", " ").split())
        for command in PAGE_COMMANDS["iterations"]:
            assert not command.keys or key_label(command.keys[0]) in flat
            assert command.help in flat
        await pilot.press("escape", "ctrl+p")
        await see(pilot, "Iterations: Filter")
        await pilot.press(*"iterations filter")
        await until(pilot, lambda: "Loop: Pause" not in screen_text(app))
        await pilot.press("down", "enter")
        await see(pilot, "only tool calls")


async def test_a_journal_that_cannot_be_read_is_said(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "odd", [])
    path = Project(script.controls.root).layout.events
    path.unlink()
    path.mkdir()
    async with open_app(script, autostart=False) as pilot:
        await open_page(pilot, "4", "again.")
        await open_page(pilot, "5", "regular")  # whole, however long the path before it
        await open_page(pilot, "7", "The journal cannot be read")
        await pilot.press("1", "enter")
        await through_the_menu(pilot)  # and of a task
        await see(pilot, "regular")


@pytest.mark.long
async def test_hostile_text_stays_text_on_every_page(open_app: Open, tmp_path: Path) -> None:
    evil = "[/red]\x1b[31m[link=file:///]x\x1b]0;gone\x07 \u202eabc"
    events: list[ev.Event] = [
        feed.started(),
        feed.plan(),
        ev.IterationStarted(iteration=1, task_id=evil, title=evil, why=evil),
        ev.ToolStarted(tool_id="e", name="Edit", input={"file_path": evil, "new_string": evil}),
        ev.ToolFinished(tool_id="e", name="Edit", outcome=ToolOutcome.OK, output=evil),
        ev.ToolDenied(tool_id="d", name="Bash", rule=evil, part=evil, reason=evil, instead=evil),
        ev.IterationFinished(
            iteration=1,
            task_id=evil,
            outcome=IterationOutcome.FAILED,
            reason=evil,
            files_changed=(evil,),
        ),
        feed.stopped()[-1].model_copy(update={"reason": evil, "hint": evil}),
    ]
    script = past_project(tmp_path / "evil", events)
    (script.controls.root / "specs" / "evil.md").write_text(f"# {evil}\n\n- [ ] {evil}\n{evil}\n")
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        for key, views in (("4", 3), ("5", 2), ("6", 1), ("7", 3), ("8", 3)):
            await pilot.press(key)
            await until(pilot, lambda k=key: isinstance(app.screen, CLASSES[PAGES[int(k) - 4]]))  # type: ignore[misc]  # the default binds the loop's value
            for _ in range(views):
                await until(
                    pilot, lambda: all(w.is_finished for w in app.workers if w.node is app.screen)
                )
                await pilot.pause()
                text = screen_text(app)
                assert "\x1b" not in text
                assert "\u202e" not in text
                await pilot.press("v")


async def test_a_page_is_styled_once_and_no_other_sheet_is_read_again(
    open_app: Open, past: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[object] = []
    styled: list[Screen[object]] = []
    real = Screen.update_classes

    def watched(screen: Screen[object], classes: Mapping[str, bool], **how: bool) -> Screen[object]:
        before = screen.classes
        real(screen, classes, **how)
        if screen.classes != before:
            styled.append(screen)
        return screen

    monkeypatch.setattr(Stylesheet, "reparse", parsed.append)
    async with open_app(past, autostart=False, size=(80, 24)) as pilot:
        monkeypatch.setattr(Screen, "update_classes", watched)
        for key, text in (("5", "pace of the last task"), ("4", "demo-02")):
            page = await open_page(pilot, key, text)
            assert page.has_class("-narrow")
            assert page.bar.size.height == 1
        assert styled == []
        assert parsed == []


def test_what_an_iteration_is_about_stands_whole_in_a_narrow_list() -> None:
    long = Iteration(
        number=4, run_id="r", task_id="b", title="Titles into slugs: lower case, dashes"
    )
    short = long.model_copy(update={"title": "Slugs"})
    for iteration, rows in ((long, 3), (short, 2)):
        _, block = iteration_blocks([iteration], [], 34, UNICODE)
        assert len(block.lines) == len(list(block.lines)) == rows
        text = " ".join(plain(line).strip() for line in block.lines)
        assert text.endswith(iteration.title)


@pytest.mark.parametrize(
    ("task_id", "figures"),
    [("task-001", "$0.06    3.7s"), ("validation", "$0.06 3.7s"), ("a-long-task-id", "$0.06")],
)
def test_the_outcome_of_an_iteration_is_never_cut_for_its_figures(
    task_id: str, figures: str
) -> None:
    done = Iteration(
        number=10,
        run_id="r",
        task_id=task_id,
        outcome=IterationOutcome.COMPLETE,
        cost_usd=0.06,
        seconds=3.7,
        end=1,
    )
    _, block = iteration_blocks([done], [], 38, UNICODE)
    first = plain(block.lines[0])
    assert f"{task_id}  complete " in first
    assert first.rstrip().endswith(f" {figures}")


async def test_contents_that_come_after_the_keys_have_a_cursor(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False, size=(80, 24)) as pilot:
        page = await open_page(pilot, "4", "iterations 2")
        assert isinstance(page, IterationsPage)
        await pilot.press("enter")
        await until(pilot, lambda: page.transcript.has_focus)
        page.transcript.restart(page.transcript.timeline)
        assert page.transcript.cursor is not None
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(ralph(pilot).screen, ToolDetail))
