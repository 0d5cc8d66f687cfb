"""What another process changes between two looks at the plan is not written over."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.phases.build_loop import BuildLoop
from ralph_tui.engine.phases.finished_work import FinishedWork
from ralph_tui.store.project import Project
from tests.harness.projects import ALLOWING, make_project, task, task_of
from tests.harness.run_parts import NO_GATE, partial_run


@pytest.mark.parametrize(
    ("verb", "status"), [("hold", TaskStatus.PENDING), ("skip", TaskStatus.BLOCKED)]
)
async def test_a_task_taken_just_before_it_is_begun_is_not_begun(
    tmp_path: Path, verb: str, status: TaskStatus
) -> None:
    root = make_project(tmp_path, [task("a")])
    told: list[object] = []
    project_state = ProjectState(Project(root), told.append)
    await project_state.open()
    looks: list[str] = []

    async def reason_to_stop() -> End | None:
        if not looks:
            getattr(Controls(root), verb)("a")  # the ledger has not seen it yet
        looks.append("looked")
        return None

    run = partial_run(
        project_state=project_state,
        emit=told.append,
        settings=ALLOWING,
        gate=NO_GATE,
        limits=SimpleNamespace(reason_to_stop=reason_to_stop, done=0),
    )
    end = await BuildLoop(run, FinishedWork()).run()
    assert "no task is ready" in end.reason
    assert task_of(root, "a").status is status
    assert Project(root).load().state.iteration_count == 0
