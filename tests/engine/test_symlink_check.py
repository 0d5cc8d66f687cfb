"""A link that is changed between the guard's look and the write: seen afterwards, and the loop stops."""

from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.context import UsageMeter
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.session.task_supervisor import TaskSupervisor
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.guard import Guard
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task
from tests.harness.run_parts import partial_run


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("../elsewhere", "the file is outside the project"),
        (".ralph", "writing to .ralph/ is not allowed"),
        ("src", ""),
    ],
)
async def test_a_file_that_went_where_it_may_not_stops_the_loop(
    tmp_path: Path, target: str, why: str
) -> None:
    root = make_project(tmp_path, [task("a", status="in_progress")])
    (tmp_path / "elsewhere").mkdir()
    (root / "src").mkdir()
    (root / "dir").mkdir()
    told: list[ev.Event] = []
    noted: list[str] = []

    async def note(call: ToolCall) -> None:
        noted.append(call.tool_id)

    project_state = ProjectState(Project(root), told.append)
    docs = await project_state.open()
    guard = Guard(Policy(root=root), CommandJudge())
    run = partial_run(
        project_state=project_state, emit=told.append, review=guard.review, review_written=guard.recheck_write,
        settings=load_settings(root, environ={}), clock=lambda: datetime.now(UTC),
        before_call=note,
    )  # fmt: skip
    supervisor = TaskSupervisor(
        docs.plan.tasks[0],
        run,
        meter=cast("UsageMeter", None),
    )
    call = ToolCall(tool_id="w", name="Write", input={"file_path": f"{root}/dir/x", "content": "x"})
    assert (await supervisor.review_tool(call)).decision == "allow"
    assert noted == ["w"], "whoever tells changes apart hears of it before it runs"
    (root / "dir").rmdir()
    (root / "dir").symlink_to(target)
    (root / "dir/x").write_text("x")  # as the CLI does, which follows the link
    after = await supervisor.after_tool(call)
    state = Project(root).load().state
    errors = [e.text for e in told if isinstance(e, ev.Notice) and e.level == "error"]
    assert after.end_turn is bool(why)
    assert (state.stop is StopMode.NOW) is bool(why)
    assert why in state.stop_why
    assert [why in text and f"{root}/dir/x" in text for text in errors] == [True] * bool(why)


async def test_a_denied_write_is_not_judged_again(tmp_path: Path) -> None:
    guard = Guard(Policy(root=tmp_path), CommandJudge())
    call = ToolCall(tool_id="w", name="Write", input={"file_path": "/etc/x", "content": "x"})
    assert (await guard.review(call)).decision == "deny"
    assert guard.recheck_write(call).decision == "allow"
