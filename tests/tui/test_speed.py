"""Work is counted, not timed: what a key or an event must not cost, however much there is."""

import gc
import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual._styles_cache import StylesCache
from textual.pilot import Pilot
from textual.visual import Visual

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, work_order
from ralph_tui.domain.plan.plan_validation import PlanProblem
from ralph_tui.present.text.spans import Line, Span, fold
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.terminal import frozen_background
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of, until
from tests.tui.past import past_project


async def test_rows_that_come_and_go_move_nothing_else_on_the_screen(open_app: Open) -> None:
    script = script_of([feed.started(), ev.PlanLoaded(tasks=_tasks(200))])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        stream, board = app.dashboard.stream, app.dashboard.board
        for number in range(60):
            script.news.put_nowait(ev.AssistantText(text=f"Sentence {number}."))
        await drained(pilot)
        layouts: list[object] = []
        app.screen.screen_layout_refresh_signal.subscribe(stream, layouts.append)
        for number in range(60, 80):
            layouts.clear()  # the first ones may still be those of the screen that was opened
            script.news.put_nowait(ev.AssistantText(text=f"Sentence {number}."))
            script.news.put_nowait(ev.TaskChanged(task=Task(id=f"t{number}", retry_count=1)))
            await drained(pilot)
        assert not layouts
        assert "Sentence 79." in screen_text(app)
        for pane in (stream, board):
            assert pane.vertical_scrollbar.window_virtual_size == pane.row_count()
        await pilot.press("1", "G")
        gone = ev.PlanLoaded(tasks=_tasks(50), source="disk")
        script.news.put_nowait(gone)
        await drained(pilot)
        assert board.scroll_offset.y == board.max_scroll_y > 0


async def test_what_moves_under_a_dialog_does_not_draw_the_screen_again(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Visual] = []
    real = frozen_background.FrozenVisual

    def counted(moving: Visual) -> frozen_background.FrozenVisual:
        looks.append(moving)
        return real(moving)

    monkeypatch.setattr(frozen_background, "FrozenVisual", counted)
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        await drained(pilot)
        looks.clear()
        for number in range(10):
            script.news.put_nowait(ev.Notice(text=f"News {number}."))
            await drained(pilot)
            await pilot.press("j")
        assert not looks
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert "News 9." in screen_text(app)


async def test_screens_that_were_closed_are_let_go_while_nothing_happens(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        opened: list[weakref.ref[object]] = []
        caches: list[int] = []
        for key in ("7", "v", "v", "v", "v", "v"):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.dashboard)
            await drained(pilot)
            opened.append(weakref.ref(app.screen))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.dashboard)
            gc.collect()
            caches.append(sum(isinstance(thing, StylesCache) for thing in gc.get_objects()))
        assert sum(screen() is not None for screen in opened) <= 2
        assert caches[-1] == caches[1], "what they drew is kept of one"


async def test_a_task_that_gets_on_has_no_plan_checked_or_ordered_anew(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, ordered = Counter[str](), Counter[str]()
    problems = ImplementationPlan.problems

    def checking(plan: ImplementationPlan) -> tuple[PlanProblem, ...]:
        checked["plan"] += 1
        return problems(plan)

    def ordering(tasks: Iterable[Task]) -> list[Task]:
        ordered["plan"] += 1
        return work_order(tasks)

    monkeypatch.setattr(ImplementationPlan, "problems", checking)
    monkeypatch.setattr("ralph_tui.tui.screens.dialogs.plan_review.work_order", ordering)
    script = script_of([feed.started(), ev.PlanLoaded(tasks=_tasks(50))])

    async def changes(pilot: Pilot[int], number: int, **changed: object) -> None:
        task = ralph(pilot).view.tasks[f"t{number}"].model_copy(update=changed)
        script.news.put_nowait(ev.TaskChanged(task=task))
        await drained(pilot)

    async with open_app(script) as pilot:
        app = ralph(pilot)
        for key, counts in (("7", checked), ("v", ordered)):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.dashboard)
            await drained(pilot)
            counts.clear()
            for number in range(5):
                await changes(pilot, number, status=TaskStatus.COMPLETE)
            assert not counts
            await changes(pilot, 9, dependencies=("nowhere",), priority=len(key))
            await changes(pilot, 9, dependencies=("t1",), priority=7)
            assert counts["plan"] >= 1
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.dashboard)


async def test_a_long_text_is_made_into_lines_while_keys_are_answered(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = past_project(tmp_path / "project")
    words = "- a line of *memory* that goes on and on until it folds at the end of the line"
    text = "\n".join(f"{words} {number}" for number in range(2_000))
    (tmp_path / "project" / "MEMORY.md").write_text(text)
    folded = Counter[bool]()

    def folding(line: Line, width: int) -> list[list[Span]]:
        folded[threading.current_thread() is threading.main_thread()] += 1
        return fold(line, width)

    monkeypatch.setattr("ralph_tui.present.text.parts.fold", folding)
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await pilot.press("6")
        await until(pilot, lambda: "MEMORY.md" in screen_text(app))
        await pilot.press("j", "j")
        await until(pilot, lambda: "until it folds" in screen_text(app))
        assert folded[False] == 2_000
        assert folded[True] < 200


def _tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(id=f"t{number}") for number in range(count))
