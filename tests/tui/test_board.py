"""What a person does to one task on the board: hold, model, filter."""

import asyncio
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import tasks_of
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.board.board_rows import BoardRow, Group, board_line
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.timeline.entry_lines import entries_text
from ralph_tui.present.timeline.event_lines import EventPrinter
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from tests.tui import feed
from tests.tui.conftest import (
    Open,
    drained,
    ralph,
    screen_text,
    script_of,
    through_the_menu,
    toasts,
    until,
)
from tests.tui.past import past_project


async def test_h_holds_a_task_and_releases_it(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app, board = ralph(pilot), ralph(pilot).dashboard.board
        await pilot.press("1", "j", "H")
        await until(pilot, lambda: script.controls.asked == ["hold demo-04"])
        await until(pilot, lambda: "held  1" in screen_text(app))
        held = app.view.tasks["demo-04"]
        script.news.put_nowait(ev.TaskChanged(task=held, reason="changed on disk"))
        other = app.view.tasks["demo-05"].model_copy(update={"held": True})
        script.news.put_nowait(ev.TaskChanged(task=other, reason="changed on disk"))
        await until(pilot, lambda: "held  2" in screen_text(app))
        told = entries_text(app.dashboard.stream.shown(), app.glyphs)
        assert "demo-04 is held: you put it on hold" in told
        assert "demo-05 is held: changed on disk" in told
        assert told.count(" is held") == 2, "what is known already is no news"
        board.move_cursor("demo-04")
        await pilot.press("H")
        await until(pilot, lambda: script.controls.asked[-1] == "release demo-04")
        await pilot.press("G", "H")
        await until(pilot, lambda: "Task demo-01 is already complete." in toasts(app))
        assert len(script.controls.asked) == 2


async def test_the_cursor_goes_with_a_task_that_is_begun_and_not_with_one_that_is_done(
    open_app: Open,
) -> None:
    script = script_of([feed.started(), feed.plan()])
    async with open_app(script, size=(80, 24)) as pilot:
        app, board = ralph(pilot), ralph(pilot).dashboard.board
        await pilot.press("1", "j")
        at = [board.cursor]
        script.news.put_nowait(ev.TaskChanged(task=feed.task(4, TaskStatus.IN_PROGRESS)))
        await until(pilot, lambda: "in progress  1" in screen_text(app))
        at.append(board.cursor)
        script.news.put_nowait(ev.TaskChanged(task=feed.task(4, TaskStatus.COMPLETE)))
        await until(pilot, lambda: "done  2" in screen_text(app))
        at.append(board.cursor)
        assert at == ["demo-04", "demo-04", "demo-02"], (
            "its group is empty, so the next that follows"
        )
        script.news.put_nowait(ev.PlanLoaded(tasks=feed.TASKS[3:], source="disk"))
        await until(pilot, lambda: "demo-02" not in screen_text(app))
        assert board.cursor is not None, "whoever takes tasks away"


async def test_m_gives_a_task_a_model_and_keeps_what_was_typed_when_refused(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("1", "j", "m")
        await until(pilot, lambda: isinstance(app.screen, ValueDialog))
        script.controls.error = RalphError("That is no model.", "`ralph build` goes on.")
        await pilot.press(*"opus", "enter")
        await until(pilot, lambda: "That is no model. b goes on." in toasts(app))
        await until(pilot, lambda: isinstance(app.screen, ValueDialog))
        script.controls.error = None
        await pilot.press("enter")
        await until(pilot, lambda: script.controls.asked == ["edit demo-04: {'model': 'opus'}"])
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        own = app.view.tasks["demo-04"].model_copy(update={"model": "opus"})
        script.news.put_nowait(ev.TaskChanged(task=own))
        await until(pilot, lambda: "opus" in screen_text(app))
        await pilot.press("enter")
        await through_the_menu(pilot)
        await until(pilot, lambda: "model opus" in screen_text(app))


async def test_the_board_is_filtered_by_status(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        board = app.dashboard.board
        await pilot.press("1")
        seen = {}
        for _ in range(7):
            await pilot.press("F")
            await drained(pilot)
            keys = {board.row_at(y)[0] for y in range(board.row_count())} - {None}
            seen[board.only] = keys
            assert f"tasks: {board.only}" in screen_text(app) or board.only == "all"
        assert list(seen) == ["open", "in progress", "ready", "waiting", "blocked", "done", "all"]
        assert seen["all"] == set(app.view.tasks)
        assert seen["open"] == seen["all"] - seen["done"]
        assert seen["blocked"] == {"demo-06"}
        while board.only != "blocked":
            await pilot.press("F")
        script.news.put_nowait(ev.TaskChanged(task=Task(id="demo-06", status=TaskStatus.COMPLETE)))
        await until(pilot, lambda: "No blocked tasks." in screen_text(app))


async def test_a_bug_in_a_handler_is_said_and_its_details_are_kept(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)

        def broken() -> None:
            raise ZeroDivisionError("boom")

        app.dashboard.stream.action_follow = broken  # type: ignore[method-assign]  # the bug
        await pilot.press("f")
        await until(pilot, lambda: any("ZeroDivisionError: boom" in t for t in toasts(app)))
        await until(pilot, lambda: bool(app.view.notices))
        said = app.view.notices[-1].text
        report = Path(said.partition("The details are in ")[2].removesuffix("."))
        assert "in broken" in await asyncio.to_thread(report.read_text)


async def test_the_status_pane_is_copied_and_exported(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "slug-demo")
    script.first = feed.failed_gate()
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("3", "y")
        await until(pilot, lambda: "context (" in app.clipboard)
        assert "failures" in app.clipboard
        await pilot.press("Y")
        made = tmp_path / "slug-demo" / ".ralph" / "exports"
        await until(pilot, lambda: any(made.glob("status-*")))  # not the file that becomes it
        (path,) = made.glob("status-*")
        assert "hand-off at 60 %" in await asyncio.to_thread(path.read_text)


async def test_vim_keys_move_between_panes_and_in_the_status_pane(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(80, 24)) as pilot:
        app = ralph(pilot)
        for key, pane in (
            ("l", "status"),
            ("right", "tasks"),
            ("h", "status"),
            ("left", "activity"),
        ):
            await pilot.press(key)
            await until(pilot, lambda p=pane: app.dashboard.pane == p)  # type: ignore[misc]  # binds it
        await pilot.press("3", "G")
        side = app.dashboard.side
        await until(pilot, lambda: side.max_scroll_y > 0 and side.is_vertical_scroll_end)
        await pilot.press("g")
        await until(pilot, lambda: side.scroll_offset.y == 0)
        await pilot.press("j")
        await until(pilot, lambda: side.scroll_offset.y == 1)
        await pilot.press("M")  # one pane fits, so there is nothing to zoom
        await until(pilot, lambda: any("1, 2 or 3" in text for text in toasts(app)))


def test_a_task_that_nothing_verified_says_so_wherever_it_is_shown() -> None:
    rests = TaskVerification(outcome=VerificationOutcome.UNVERIFIED, reason="no check could run")
    task = Task(id="a", description="Do a", status=TaskStatus.COMPLETE, verification=rests)
    shown = "".join(span.text for span in board_line(BoardRow(Group.DONE, task), 60, UNICODE))
    assert shown.startswith(f"  {UNICODE.warning} a  Do a")
    assert shown.rstrip().endswith("unverified")
    view = LoopView(tasks=tasks_of([task]))
    page = "\n".join(
        part.title + "".join(span.text for line in part.lines for span in line)
        for part in task_parts(task, view, None, UNICODE)
    )
    assert "done, unverified" in page
    assert "unverified: no check could run" in page
    end = ev.LoopFinished(
        status=LoopStatus.COMPLETE,
        reason="the only task is complete, 1 unverified (a)",
        exit_code=0,
        tasks_complete=1,
        tasks_total=1,
        tasks_unverified=1,
    )
    lines = [line.text for line in EventPrinter(UNICODE).lines(end)]
    assert lines[0].startswith("ralph: 1 of 1 task complete (1 unverified), ")
    checked = task.model_copy(
        update={"verification": rests.model_copy(update={"outcome": VerificationOutcome.VERIFIED})}
    )
    assert "unverified" not in str(board_line(BoardRow(Group.DONE, checked), 60, UNICODE))


async def test_a_group_folds_and_unfolds_by_key_enter_and_click(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        board = ralph(pilot).dashboard.board
        await pilot.press("1", "G")
        last = board.selected
        assert last is not None
        whole = board.row_count()
        await pilot.press("Z")
        assert (board.selected, board.row_of(last.id)) == (None, None)
        folded = board.row_count()
        assert folded < whole
        await pilot.press("k", "j")
        assert ralph(pilot).dashboard.board.selected is None, "the cursor comes back to the heading"
        board.tasks = board.tasks
        assert board.row_count() == folded, "news of the plan unfold nothing"
        await pilot.press("enter")
        assert board.row_count() == whole
        assert board.selected is not None
        assert ralph(pilot).screen is ralph(pilot).dashboard, "enter unfolds, and opens nothing"
        await pilot.press("g")
        await pilot.click(board, offset=(3, 1))
        assert board.row_count() < whole
        await pilot.click(board, offset=(3, 1))
        assert board.row_count() == whole


async def test_a_pane_is_zoomed_and_the_others_come_back(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(160, 50)) as pilot:
        dashboard = ralph(pilot).dashboard
        panes = (dashboard.board, dashboard.stream, dashboard.side)

        def shown() -> list[bool]:
            return [bool(pane.region) for pane in panes]

        await pilot.press("2", "M")
        await until(pilot, lambda: shown() == [False, True, False])
        assert dashboard.stream.region.width == 160
        await pilot.press("tab")
        await until(pilot, lambda: shown() == [False, False, True])
        await pilot.press("1")
        await until(pilot, lambda: shown() == [True, False, False])
        assert dashboard.board.has_focus
        await pilot.press("M")
        await until(pilot, lambda: shown() == [True, True, True])
        assert dashboard.board.has_focus
