"""Work is counted, not timed: what a key or an event must not cost, however much there is."""

from collections.abc import Callable

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import Task
from tests.tui import feed
from tests.tui.conftest import Opened, drained, screen_text, script_of
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


def _tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(id=f"t{number}") for number in range(count))
