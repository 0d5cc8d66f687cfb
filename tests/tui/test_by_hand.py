"""A real plan changed on the screen: who did it is said, and the cursor stays where the hand is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ralph_tui.domain.events import EventSink, LoopFinished
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.engine.run.observer import follow_project
from ralph_tui.present.timeline.entry_lines import entries_text
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from tests.harness.projects import make_project, plan_of, task
from tests.tui.conftest import DIRECT_KEYS, ralph, screen_text, toasts, until
from tests.tui.test_import_plan import launch_of
from tests.tui.test_import_plan import opened as watched


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task(name) for name in "abcdef"])


@asynccontextmanager
async def on_the_board(root: Path) -> AsyncIterator[Pilot[int]]:
    """The screen of a project in which nothing runs, with the cursor on its first task."""

    async def run(_: EventSink) -> LoopFinished:
        raise AssertionError("nobody asked for a run")

    async def watch(sink: EventSink) -> None:
        await follow_project(root, sink)

    launch = Launch(root, Controls(root), run, watch, warm_up=lambda: None)
    launch = replace(launch, screen=launch.screen.model_copy(update={"keys": DIRECT_KEYS}))
    async with RalphApp(launch).run_test(size=(120, 40), notifications=True) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: bool(app.view.tasks))
        await pilot.press("1")
        await until(pilot, lambda: app.dashboard.board.cursor == "a")
        yield pilot


def told(app: RalphApp) -> str:
    return entries_text(app.dashboard.stream.shown(), app.glyphs)


def held(root: Path) -> list[str]:
    return [t.id for t in plan_of(root).tasks if t.held]


async def test_several_are_held_in_a_row_and_it_is_said_once(root: Path) -> None:
    async with on_the_board(root) as pilot:
        app, board = ralph(pilot), ralph(pilot).dashboard.board
        await pilot.press("j", "H", "H", "H")  # faster than any disk
        await until(pilot, lambda: held(root) == ["b", "c", "d"] and board.cursor not in {*"bcd"})
        at = [board.cursor]  # the screen follows the disk a moment later
        await asyncio.to_thread(Controls(root).hold, "a")  # as another program does
        words = [f"{name} is held: put on hold by hand" for name in "abcd"]
        await until(pilot, lambda: all(told(app).count(one) == 1 for one in words))
        at.append(board.cursor)
        await pilot.press("j", "H")
        await until(pilot, lambda: "f is held: put on hold by hand" in told(app))
        at.append(board.cursor)
        await pilot.press("G", "H")
        await until(pilot, lambda: "f is pending: released by hand" in told(app))
        at.append(board.cursor)
        assert at == ["e", "e", "e", "d"], "the next of the same group, or the one before"


async def test_after_a_skip_and_a_drop_the_cursor_is_on_the_next(root: Path) -> None:
    async with on_the_board(root) as pilot:
        app, board = ralph(pilot), ralph(pilot).dashboard.board
        for key, yes in (("s", "s"), ("d", "D")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            await pilot.press(yes)
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
            await until(pilot, lambda k=key: board.cursor == {"s": "b", "d": "c"}[k])  # type: ignore[misc]  # binds it
        assert [t.id for t in plan_of(root).tasks] == [*"acdef"]
        await until(pilot, lambda: "changed on disk: 5 tasks" in told(app))
        assert "a is blocked: skipped by hand" in told(app)
        await pilot.press("G", "t")
        await until(pilot, lambda: "a is pending: requeued by hand" in told(app))
        assert board.cursor == "f", "nothing else is blocked"


async def test_a_task_that_is_added_is_under_the_cursor(root: Path) -> None:
    async with on_the_board(root) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        review = app.screen
        assert isinstance(review, PlanReview)
        for name in ("task-001", "task-002"):
            await pilot.press("A", *"Look", "tab", "tab", *"c", "ctrl+s")
            await until(pilot, lambda: app.screen is review)
            await until(pilot, lambda n=name: review.plan.cursor == n)  # type: ignore[misc]  # binds it
        assert [t.dependencies for t in plan_of(root).tasks[-2:]] == [("c",), ("c",)]
        await until(pilot, lambda: "task-002 is pending: added by hand" in told(app))
        await pilot.press("plus")
        await until(pilot, lambda: plan_of(root).tasks[-1].id == "task-001")
        await until(pilot, lambda: "changed on disk: 8 tasks" in told(app))


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
        await pilot.press("1", "u")
        await until(pilot, lambda: "remove      a.txt" in screen_text(app))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: any("a is undone" in text for text in toasts(app)))
        await until(pilot, lambda: app.view.tasks["a"].status is TaskStatus.PENDING)
        assert app.view.elsewhere is None
    assert not (root / "a.txt").exists()
