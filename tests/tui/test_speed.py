"""Work is counted, not timed: what a key or an event must not cost, however much there is."""

import gc
import weakref
from collections.abc import Callable

import pytest
from textual.strip import Strip
from textual.visual import Visual

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import Task
from ralph_tui.tui.screens import over
from ralph_tui.tui.screens.planning import PlanReview
from tests.tui import feed
from tests.tui.conftest import Opened, drained, screen_text, script_of, until
from tests.tui.test_board import ralph

Open = Callable[..., Opened]


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
        for number in range(60, 65):
            script.news.put_nowait(ev.AssistantText(text=f"Sentence {number}."))
            script.news.put_nowait(ev.TaskChanged(task=Task(id=f"t{number}", retry_count=1)))
            await drained(pilot)
        assert not layouts
        assert "Sentence 64." in screen_text(app)
        for pane in (stream, board):
            assert pane.vertical_scrollbar.window_virtual_size == pane.row_count()
        await pilot.press("1", "G")
        gone = ev.PlanLoaded(tasks=_tasks(50), source="disk")
        script.news.put_nowait(gone)
        await drained(pilot)
        assert board.scroll_offset.y == board.max_scroll_y > 0


async def test_what_moves_under_a_dialog_does_not_draw_the_screen_again_and_again(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Visual] = []
    real = over.Still

    def counted(moving: Visual) -> over.Still:
        looks.append(moving)
        return real(moving)

    monkeypatch.setattr(over, "Still", counted)
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        await drained(pilot)
        monkeypatch.setattr(over, "BENEATH_SECONDS", 3600.0)
        looks.clear()
        for number in range(10):
            script.news.put_nowait(ev.Notice(text=f"News {number}."))
            await drained(pilot)
            await pilot.press("j")
        assert len(looks) <= 1, "the first may still find it long ago"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert "News 9." in screen_text(app)
        monkeypatch.setattr(over, "BENEATH_SECONDS", 0.0)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        await drained(pilot)
        looks.clear()
        script.news.put_nowait(ev.Notice(text="More news."))
        await until(pilot, lambda: bool(looks))


async def test_screens_that_were_closed_are_let_go_while_nothing_happens(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        opened: list[weakref.ref[object]] = []
        strips: list[int] = []
        for key in ("v", "7", "v", "7", "v", "7"):
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.dashboard)
            await drained(pilot)
            opened.append(weakref.ref(app.screen))
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.dashboard)
            gc.collect()
            strips.append(sum(isinstance(thing, Strip) for thing in gc.get_objects()))
        assert sum(screen() is not None for screen in opened) <= 2
        assert min(strips[4:]) < 1.3 * max(strips[:2])


def _tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(id=f"t{number}") for number in range(count))
