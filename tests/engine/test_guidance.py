"""Guidance is heard by one iteration to its end, or waits for the next one, also after a kill -9."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome
from ralph_tui.domain.plan.plan import TaskLimits
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.context import UsageMeter
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import Failure, SessionSpec, TurnEnded
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.phases.build_loop import BuildLoop
from ralph_tui.engine.phases.finished_work import FinishedWork
from ralph_tui.engine.run.runner import begin_run
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    with_guidance_taken,
    with_phase_iteration,
    with_task_iteration,
)
from ralph_tui.engine.session.supervisor import SessionSupervisor
from ralph_tui.engine.session.turns import Conversation
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import ALLOWING, make_project, task
from tests.harness.run_parts import NO_GATE, nothing, partial_run
from tests.harness.waiting import until

OUTCOMES = {
    IterationOutcome.COMPLETE: True,
    IterationOutcome.INCOMPLETE: True,
    IterationOutcome.HANDED_OFF: True,
    IterationOutcome.SKIPPED: False,
    IterationOutcome.INTERRUPTED: False,
    IterationOutcome.FAILED: False,
}
"""Whether who was given the guidance heard it to the end; a failure is one of the service here."""


def said(docs: Documents) -> list[str]:
    return [injection.guidance for injection in docs.pending]


@pytest.mark.parametrize(("outcome", "heard"), OUTCOMES.items())
def test_guidance_is_used_up_by_whoever_heard_it(
    tmp_path: Path, outcome: IterationOutcome, *, heard: bool
) -> None:
    project = Project(make_project(tmp_path, [task("a", status="in_progress")]))
    project.queue_injection("first")
    docs = with_guidance_taken(project.load())
    assert said(docs) == []
    later = project.load().pending[0].model_copy(update={"guidance": "second", "id": "2"})
    docs = docs.model_copy(update={"pending": (later,)})
    failure = Failure(kind=FailureClass.NETWORK, message="m")
    failed = failure if outcome is IterationOutcome.FAILED else None
    result = IterationResult(outcome=outcome, reason="r", failure=failed)
    for after in (
        with_task_iteration(docs, "a", result, TaskLimits()),
        with_phase_iteration(docs, Phase.PLANNING, result),
    ):
        assert said(after) == (["second"] if heard else ["first", "second"])
        assert after.state.given == ()


class KilledError(Exception):
    """Ends the loop where a kill -9 would, once the iteration was begun."""


async def test_guidance_of_an_iteration_that_was_killed_waits_for_the_next_run(
    tmp_path: Path,
) -> None:
    root = make_project(tmp_path, [task("a")])
    project = Project(root)
    project.queue_injection("Mind the gap")
    project_state = ProjectState(project, lambda _: None)
    await project_state.open()

    def killed() -> object:
        raise KilledError

    run = partial_run(
        project_state=project_state,
        settings=ALLOWING,
        gate=NO_GATE,
        limits=SimpleNamespace(reason_to_stop=nothing, costs=killed),
    )
    with pytest.raises(KilledError):
        await BuildLoop(run, FinishedWork()).run()
    assert said(Project(root).load()) == []
    await begin_run(
        Project(root), load_settings(root, environ={}), RunRequest(), "r", Phase.BUILDING
    )
    docs = Project(root).load()
    assert said(docs) == ["Mind the gap"]
    assert docs.state.given == ()


class Listening:
    """A session whose turn runs until it is told to end."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.begun, self.over = asyncio.Event(), asyncio.Event()

    async def run_turn(self, prompt: str) -> AsyncIterator[TurnEnded]:
        del prompt
        self.begun.set()
        await self.over.wait()
        yield TurnEnded()

    async def steer(self, text: str) -> None:
        self.heard.append(text)


async def test_guidance_that_a_running_turn_was_told_is_kept_until_that_turn_has_an_outcome(
    tmp_path: Path,
) -> None:
    root = make_project(tmp_path, [task("a")])
    project_state = ProjectState(Project(root), lambda _: None)
    await project_state.open()
    session = Listening()

    async def opened(*_: object) -> Listening:
        return session

    run = partial_run(project_state=project_state, agent=SimpleNamespace(open=opened))
    supervisor = SimpleNamespace(
        withdrawn_reason="", report_edits=lambda: None, waiting_for_person=False
    )
    spec = SimpleNamespace(system_prompt="")
    talk = Conversation(
        run,
        cast("SessionSupervisor", supervisor),
        cast("SessionSpec", spec),
        cast("UsageMeter", None),
        seconds=60,
    )
    async with talk:
        saying = asyncio.create_task(talk.run_turn("Work."))
        await session.begun.wait()
        Project(root).queue_injection("Mind the gap", now=True)
        await project_state.refresh()
        await until(lambda: not said(project_state.docs), what="that it was said")
        killed = Project(root).load()
        session.over.set()
        await saying
    assert session.heard == ["Guidance from the person: Mind the gap"]
    for outcome, heard in OUTCOMES.items():
        failure = Failure(kind=FailureClass.NETWORK, message="m")
        failed = failure if outcome is IterationOutcome.FAILED else None
        result = IterationResult(outcome=outcome, reason="r", failure=failed)
        assert said(with_task_iteration(killed, "a", result, TaskLimits())) == (
            [] if heard else ["Mind the gap"]
        )
    await begin_run(
        Project(root), load_settings(root, environ={}), RunRequest(), "r", Phase.BUILDING
    )
    assert said(Project(root).load()) == ["Mind the gap"]
