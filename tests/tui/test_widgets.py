"""Board, stream and panels beyond what the keys show."""

import re

import pytest
from textual.selection import SELECT_ALL

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.tui.widgets.status_panels import task_cost
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, script_of, until


def many(count: int) -> tuple[Task, ...]:
    return tuple(
        Task(id=f"t-{n:05d}", description=f"Task number {n}", priority=n) for n in range(count)
    )


async def test_a_board_of_ten_thousand_renders_only_what_is_seen(open_app: Open) -> None:
    script = script_of([feed.started(), ev.PlanLoaded(tasks=many(10_000))])
    async with open_app(script) as pilot:
        board = ralph(pilot).dashboard.board
        assert board.row_count() == 10_001
        await pilot.press("1", "G")
        await until(pilot, lambda: board.cursor == "t-09999")
        assert "t-09999" in screen_text(ralph(pilot))
        assert len(board._strips) < 200


async def test_the_selected_task_keeps_its_place_when_others_move(open_app: Open) -> None:
    script = script_of([feed.started(), ev.PlanLoaded(tasks=many(200))])
    async with open_app(script) as pilot:
        board = ralph(pilot).dashboard.board
        await pilot.press("1")
        board.move_cursor("t-00100")
        board.scroll_to(y=90, animate=False, force=True, immediate=True)
        await pilot.pause()
        before = (board.row_of("t-00100") or 0) - board.scroll_offset.y
        for number in (3, 4, 150):
            done = many(200)[number].model_copy(update={"status": TaskStatus.COMPLETE})
            script.news.put_nowait(ev.TaskChanged(task=done))
        await until(pilot, lambda: board.row_of("t-00100") == 99)
        await pilot.pause()
        assert board.cursor == "t-00100"
        assert (board.row_of("t-00100") or 0) - board.scroll_offset.y == before


async def test_after_a_selected_task_that_is_deleted_comes_the_next(open_app: Open) -> None:
    script = script_of([feed.started(), ev.PlanLoaded(tasks=many(3))])
    async with open_app(script) as pilot:
        board = ralph(pilot).dashboard.board
        await pilot.press("1")
        await until(pilot, lambda: board.cursor == "t-00000")
        script.news.put_nowait(ev.PlanLoaded(tasks=many(3)[1:], source="disk"))
        await until(pilot, lambda: board.row_count() == 3)
        assert board.cursor == "t-00001"
        script.news.put_nowait(ev.PlanLoaded(tasks=(), source="disk"))
        await until(pilot, lambda: board.cursor is None)


async def test_the_stream_stays_where_the_person_looks_when_old_rows_go(open_app: Open) -> None:
    script = script_of([ev.Notice(text=f"entry {n}") for n in range(11_000)])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        stream = app.dashboard.stream
        stream.move_cursor(5_000)
        await pilot.pause()
        assert "entry 5000" in screen_text(app)
        place = (stream.row_of(5_000) or 0) - stream.scroll_offset.y
        for n in range(11_000, 11_500):
            script.news.put_nowait(ev.Notice(text=f"entry {n}"))
        await until(pilot, lambda: stream.timeline.end == 11_500)
        await pilot.pause()
        assert stream.timeline.first > 0
        assert stream.row_count() <= 11_000
        assert "entry 5000" in screen_text(app)
        assert (stream.row_of(5_000) or 0) - stream.scroll_offset.y == place


async def test_text_wraps_anew_when_the_terminal_changes(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(200, 60)) as pilot:
        app = ralph(pilot)
        wide = app.dashboard.stream.row_count()
        await pilot.resize_terminal(64, 30)
        await until(pilot, lambda: app.dashboard.stream.row_count() > wide)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: app.dashboard.stream.row_count() == wide)


async def test_the_stream_can_be_selected_and_copied_with_the_mouse(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        stream = app.dashboard.stream
        found = stream.get_selection(SELECT_ALL)
        assert found is not None
        assert "uv run pytest -q" in found[0]
        assert len(found[0].splitlines()) == stream.row_count()
        app.screen.selections = {stream: SELECT_ALL}
        await pilot.pause()
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "uv run pytest -q" in app.clipboard)


async def test_a_running_call_becomes_finished_in_its_own_line(open_app: Open) -> None:
    script = script_of(
        [feed.started(), ev.ToolStarted(tool_id="a", name="Bash", input={"command": "make it"})]
    )
    async with open_app(script) as pilot:
        app = ralph(pilot)
        rows = app.dashboard.stream.row_count()
        assert "running" in next(t for t in screen_text(app).splitlines() if "make it" in t)
        script.news.put_nowait(
            ev.ToolFinished(tool_id="a", outcome=ToolOutcome.ERROR, seconds=3, output="Exit code 2")
        )
        await until(pilot, lambda: "exit 2" in screen_text(app))
        assert app.dashboard.stream.row_count() == rows


async def test_panels_do_not_move_when_receipts_come(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        before = app.dashboard.gate.region
        for receipt in feed.RECEIPTS_FAILED:
            script.news.put_nowait(ev.GateChecked(task_id="demo-02", receipt=receipt))
        await until(pilot, lambda: len(app.dashboard.gate.receipts) == 3)
        await pilot.pause()
        assert app.dashboard.gate.region == before


async def test_the_last_gate_stays_in_sight_when_another_task_is_worked(open_app: Open) -> None:
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: "demo-02 rejected" in screen_text(app))
        script.news.put_nowait(ev.IterationStarted(iteration=4, task_id="demo-03"))
        await until(pilot, lambda: "last: demo-02 rejected" in screen_text(app))
        assert "no claim has been checked" not in screen_text(app)
        assert len(app.dashboard.gate.receipts) == 3


async def test_a_board_without_tasks_says_what_it_waits_for(open_app: Open) -> None:
    script = script_of([feed.started().model_copy(update={"phase": Phase.DISCOVERY})])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        assert "No plan yet. Discovery comes first." in screen_text(app)
        script.news.put_nowait(ev.PhaseChanged(phase=Phase.PLANNING))
        await until(pilot, lambda: "Ralph is planning now" in screen_text(app))
        script.news.put_nowait(ev.PlanLoaded(tasks=many(3)))
        await until(pilot, lambda: "t-00002" in screen_text(app))
        assert "No plan yet" not in screen_text(app)


async def test_nothing_moves_by_timer_while_nothing_happens(open_app: Open) -> None:
    async with open_app(script_of(), autostart=False) as pilot:
        app = ralph(pilot)
        clock = app.lifecycle.refresher._clock_timer
        assert clock is not None
        assert not clock._active.is_set()


async def test_in_ascii_everything_is_ascii(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPH_ASCII", "1")
    async with open_app(script_of([*feed.failed_gate(), ev.Notice(text="naïve 漢")])) as pilot:
        text = screen_text(ralph(pilot))
        assert "na?ve ?" in text
        assert text.isascii()


@pytest.mark.parametrize(("chosen", "then"), [((), "activity"), (("3",), "status")])
async def test_one_pane_alone_is_the_one_that_says_most_until_the_person_chooses(
    open_app: Open, chosen: tuple[str, ...], then: str
) -> None:
    async with open_app(script_of(feed.running()), autostart=False, size=(80, 24)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.dashboard.board.display)
        await until(pilot, lambda: re.search(r"ready +2", screen_text(app)) is not None)
        await pilot.press(*chosen, "b")
        await until(pilot, lambda: app.view.task_id is not None)
        await pilot.pause()
        assert app.dashboard.pane == then
        assert app.dashboard.pane_widget(then).has_focus


def test_what_failed_tasks_cost_is_said_also_before_one_is_complete() -> None:
    first, second, *others = many(4)
    known = {"status": TaskStatus.BLOCKED, "actual_cost_usd": 0.2}
    tried = [task.model_copy(update=known) for task in (first, second)]
    view = reduce(LoopView(), ev.PlanLoaded(tasks=(*tried, *others)))
    assert task_cost(view) == (0.2, "average of 2 attempted")
    assert task_cost(reduce(LoopView(), ev.PlanLoaded(tasks=many(4)))) is None


async def test_the_meter_says_what_the_task_cost_in_all_its_tries(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, size=(160, 50)) as pilot:
        app = ralph(pilot)
        await pilot.press("3")
        await until(pilot, lambda: "$0.19 demo-02" in screen_text(app))
        tried = feed.task(2, TaskStatus.IN_PROGRESS).model_copy(update={"actual_cost_usd": 0.5})
        script.news.put_nowait(ev.TaskChanged(task=tried))
        await until(pilot, lambda: "$0.69 demo-02" in screen_text(app))
        done = tried.model_copy(update={"actual_cost_usd": 0.8, "status": TaskStatus.COMPLETE})
        script.news.put_nowait(ev.TaskChanged(task=done))
        outcome = IterationOutcome.COMPLETE
        script.news.put_nowait(
            ev.IterationFinished(iteration=3, task_id="demo-02", outcome=outcome, cost_usd=0.3)
        )
        await until(pilot, lambda: "$0.59 average of 2" in screen_text(app))
        await pilot.resize_terminal(160, 50)
        await until(pilot, lambda: re.search(r"demo-02 .*\$0\.80", screen_text(app)) is not None)
