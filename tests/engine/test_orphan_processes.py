"""What a dead run left behind is ended or left as the person says, and as nobody else does."""

import asyncio
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.events import Event, Notice
from ralph_tui.domain.project_state import Halt
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import Mission
from ralph_tui.engine.core.project_state import Ledger
from ralph_tui.engine.safety import orphan_processes
from ralph_tui.engine.safety.orphan_processes import END, Stray, settle_strays
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, task
from tests.harness.waiting import until

LEFT = Stray(pid=1, run_id="r", command="sleep 9")


def stopping(docs: Documents) -> Documents:
    """Somebody asks the loop to stop."""
    state = docs.state.model_copy(update={"stop": Halt.NOW})
    return docs.model_copy(update={"state": state})


@pytest.mark.parametrize("stops", [False, True])
async def test_the_question_stands_until_it_is_answered_or_the_loop_is_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stops: bool
) -> None:
    ended: list[Stray] = []
    monkeypatch.setattr(orphan_processes, "find_strays", lambda _: (LEFT,))
    monkeypatch.setattr(orphan_processes, "end_strays", ended.extend)
    project = Project(make_project(tmp_path, [task("a")]))
    told: list[Event] = []
    ledger = Ledger(project, told.append)
    await ledger.open()
    mission = Mission(interactive=True)
    settling = asyncio.create_task(settle_strays(project.root, ledger, told.append, mission))
    await until(lambda: bool(ledger.docs.questions.open()), what="the question")
    (asked,) = ledger.docs.questions.open()
    project.layout.questions.unlink()  # nobody could answer, and nobody has said no
    await ledger.refresh()
    await until(lambda: ledger.docs.questions.open() == (asked,), what="the question again")
    if stops:
        await ledger.transact(stopping)
    else:
        answer = Answer(labels=(END,))
        await asyncio.to_thread(Controls(project.root).answer, asked.id, answer)
        await ledger.refresh()
    async with asyncio.timeout(20):
        await settling
    assert ended == ([] if stops else [LEFT])
    (said,) = (event.text for event in told if isinstance(event, Notice))
    assert said.endswith("Left alone." if stops else "Ended.")
    assert not ledger.docs.questions.open()
    assert (ledger.docs.state.stop is Halt.NOW) is stops
