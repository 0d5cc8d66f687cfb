"""What a screen without a loop is told of what waits on disk."""

import asyncio
import contextlib
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Question
from ralph_tui.domain.events import Event
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Documents, Project
from tests.harness.waiting import until


def nowhere(docs: Documents) -> ev.ProjectRead:
    return ev.ProjectRead(project="p", phase=docs.state.current_phase)


async def test_an_idle_screen_sees_and_decides_what_waits(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    asked = AskedQuestion(
        id="q1",
        batch="b",
        phase=Phase.DISCOVERY,
        question=Question(question="?"),
        asked_at=utc_now(),
    )

    def waits(docs: Documents) -> Documents:
        approval = Approval(kind=ApprovalKind.PLAN, summary="3 tasks")
        state = docs.state.model_copy(update={"approval": approval})
        return docs.model_copy(update={"state": state, "questions": docs.questions.asking([asked])})

    project.transact(waits)
    told: list[Event] = []
    project_state = ProjectState(project, told.append, standing=nowhere)
    await project_state.open()
    view = LoopView()
    for event in told:
        view = reduce(view, event)
    assert view.run_state is RunState.IDLE, "nothing runs"
    assert [q.id for q in view.questions] == ["q1"]
    assert view.approval is not None
    assert (view.approval.kind, view.approval.summary) == (ApprovalKind.PLAN, "3 tasks")
    following = asyncio.create_task(project_state.follow())
    try:
        await asyncio.to_thread(Controls(tmp_path).decide, approved=False, reason="Smaller")
        await until(lambda: any(isinstance(e, ev.ApprovalGiven) for e in told))
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
    given = next(e for e in told if isinstance(e, ev.ApprovalGiven))
    assert (given.approved, given.reason) == (False, "Smaller")
    assert reduce(view, given).approval is None
    assert reduce(view, given).run_state is RunState.IDLE


async def test_a_loop_asks_itself_and_is_not_told_twice(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    waiting = Approval(kind=ApprovalKind.PLAN)
    project.transact(
        lambda d: d.model_copy(update={"state": d.state.model_copy(update={"approval": waiting})})
    )
    told: list[Event] = []
    await ProjectState(project, told.append).open()
    assert not [e for e in told if isinstance(e, ev.ApprovalRequested)]


async def test_what_only_a_dead_run_asked_is_not_asked_again(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    limit = Approval(kind=ApprovalKind.LIMIT, summary="Wait until noon?")
    project.transact(
        lambda d: d.model_copy(update={"state": d.state.model_copy(update={"approval": limit})})
    )
    told: list[Event] = []
    await ProjectState(project, told.append, standing=nowhere).open()
    assert not [e for e in told if isinstance(e, ev.ApprovalRequested)]
    plan = Approval(kind=ApprovalKind.PLAN)
    both = project.load().state.model_copy(update={"set_aside": plan})
    assert (both.decision, project.load().state.decision) == (plan, None)
