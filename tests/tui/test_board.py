"""What a person does to one task on the board: hold, model, filter."""

import asyncio
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import tasks_of
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.board.board_rows import BoardRow, Group, board_line
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.timeline.event_lines import EventPrinter
from tests.tui import feed
from tests.tui.conftest import Open, ralph, script_of, toasts, until
from tests.tui.past import past_project


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
