"""Undo on the screen: what it would change is shown first, and only a yes does it."""

from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.store.project import Project
from ralph_tui.tui.screens.dialogs.preview import UndoDialog
from tests.harness.projects import make_project, task
from tests.tui import feed
from tests.tui.conftest import Open, ralph, script_of, toasts, until
from tests.tui.test_import_plan import launch_of
from tests.tui.test_import_plan import opened as watched


async def looked(pilot: Pilot[int]) -> UndoDialog:
    app = ralph(pilot)
    await pilot.press("1", "u")
    await until(pilot, lambda: isinstance(app.screen, UndoDialog))
    assert isinstance(app.screen, UndoDialog)
    return app.screen


async def test_undo_shows_what_it_would_change_and_a_no_changes_nothing(open_app: Open) -> None:
    script = script_of(feed.complete())
    async with open_app(script) as pilot:
        shown = (await looked(pilot)).full_text()
        assert "bring back  docs/old-guide.md" in shown
        assert "Ralph commits this to feature/slugs as a new commit." in shown
        await pilot.press("escape")
        await until(pilot, lambda: ralph(pilot).screen is ralph(pilot).dashboard)
        (asked,) = script.controls.asked
        assert asked.startswith("look at undo demo-")
        await looked(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: ralph(pilot).screen is ralph(pilot).dashboard)
        assert not any(what.startswith("undo") for what in script.controls.asked)


async def test_a_yes_undoes_what_was_shown(open_app: Open) -> None:
    script = script_of(feed.complete())
    async with open_app(script) as pilot:
        await looked(pilot)
        await pilot.press("ctrl+y")
        await until(pilot, lambda: script.controls.asked[-1].startswith("undo demo-"))


async def test_what_cannot_be_undone_says_why_and_opens_nothing(open_app: Open) -> None:
    script = script_of(feed.complete())
    async with open_app(script) as pilot:
        script.controls.error = RalphError("demo-02 changed the same files later.")
        await pilot.press("1", "u")
        await until(pilot, lambda: any("changed the same" in n for n in toasts(ralph(pilot))))
        assert ralph(pilot).screen is ralph(pilot).dashboard


async def test_nothing_is_undone_while_the_loop_runs(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        await pilot.press("1", "u")
        await until(pilot, lambda: any("The loop is running" in n for n in toasts(ralph(pilot))))
        assert script.controls.asked == []


async def test_a_real_project_is_undone_while_the_screen_watches_it(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a", status="complete")])
    Project(root).transact(
        lambda docs: docs.with_state(started_at=datetime.now(UTC), iteration_count=1)
    )
    store = snapshots_of(root)
    store.begin(1, "a", "run")
    (root / "a.txt").write_text("a\n")
    store.end(1)
    async with watched(launch_of(root), (80, 24)) as pilot:
        app = ralph(pilot)
        shown = await looked(pilot)
        assert "remove      a.txt" in shown.full_text()
        await pilot.press("ctrl+y")
        await until(pilot, lambda: any("a is undone" in text for text in toasts(app)))
        await until(pilot, lambda: app.view.tasks["a"].status is TaskStatus.PENDING)
        assert app.view.elsewhere is None
    assert not (root / "a.txt").exists()
