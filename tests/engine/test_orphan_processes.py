"""What a dead run left behind is ended or left as the person says, and as nobody else does."""

import asyncio
from pathlib import Path

import pytest

from ralph_tui.config.settings import Settings
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.events import Event, NobodyAnswered, Notice
from ralph_tui.domain.project_state import StopMode
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.decisions import ask_person
from ralph_tui.engine.decisions.ask_person import END, settle_orphans
from ralph_tui.engine.safety.processes import OrphanProcess
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, task
from tests.harness.run_parts import partial_run
from tests.harness.waiting import until

LEFT = OrphanProcess(pid=1, run_id="r", command="sleep 9")


def stopping(docs: Documents) -> Documents:
    state = docs.state.model_copy(update={"stop": StopMode.NOW})
    return docs.model_copy(update={"state": state})


def one_left(monkeypatch: pytest.MonkeyPatch) -> list[OrphanProcess]:
    """Find one process of a dead run, and collect what is ended instead of ending it."""
    ended: list[OrphanProcess] = []
    monkeypatch.setattr(ask_person, "end_orphans", ended.extend)
    return ended


def run_of(project_state: ProjectState, told: list[Event], seconds: float) -> RunContext:
    return partial_run(
        project_state=project_state,
        emit=told.append,
        request=RunRequest(interactive=True),
        settings=Settings.model_validate({"limits": {"ask_timeout_seconds": seconds}}),
    )


@pytest.mark.parametrize("stops", [False, True])
async def test_the_question_stands_until_it_is_answered_or_the_loop_is_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stops: bool
) -> None:
    ended = one_left(monkeypatch)
    project = Project(make_project(tmp_path, [task("a")]))
    told: list[Event] = []
    project_state = ProjectState(project, told.append)
    await project_state.open()
    settling = asyncio.create_task(settle_orphans(run_of(project_state, told, 0), (LEFT,)))
    await until(lambda: bool(project_state.docs.questions.open()), what="the question")
    (asked,) = project_state.docs.questions.open()
    project.layout.questions.unlink()  # nobody could answer, and nobody has said no
    await project_state.refresh()
    await until(lambda: project_state.docs.questions.open() == (asked,), what="the question again")
    if stops:
        await project_state.transact(stopping)
    else:
        answer = Answer(labels=(END,))
        await asyncio.to_thread(Controls(project.root).answer, asked.id, answer)
        await project_state.refresh()
    async with asyncio.timeout(20):
        await settling
    assert ended == ([] if stops else [LEFT])
    (said,) = (event.text for event in told if isinstance(event, Notice))
    assert said.endswith("Left running." if stops else "Ended.")
    assert not project_state.docs.questions.open()
    assert (project_state.docs.state.stop is StopMode.NOW) is stops


async def test_a_run_that_nobody_answers_in_time_stops_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = one_left(monkeypatch)
    project = Project(make_project(tmp_path, [task("a")]))
    told: list[Event] = []
    project_state = ProjectState(project, told.append)
    await project_state.open()
    async with asyncio.timeout(20):
        await settle_orphans(run_of(project_state, told, 0.05), (LEFT,))
    assert ended == []
    state = project_state.docs.state
    assert (state.stop, state.unanswered) == (StopMode.NOW, True)
    assert state.stop_why.startswith("no answer in ")
    assert [event.seconds for event in told if isinstance(event, NobodyAnswered)] == [0.05]
    (said,) = (event.text for event in told if isinstance(event, Notice))
    assert said.endswith("Left running.")
    assert not project_state.docs.questions.open()
