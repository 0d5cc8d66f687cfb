"""Find processes of a run that died with its watchdog, and end them when the person says so."""

import asyncio
import os
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState, answered
from ralph_tui.engine.safety.processes import RUN_MARK, end_marked
from ralph_tui.store.project import Documents
from ralph_tui.store.project_root import AGENT_OF

END, LEAVE = "End them", "Leave them"
BY_HAND = "`ralph doctor --end-strays` ends them; a run with --yes does so at its start."
_SHOWN = 5


@dataclass(frozen=True)
class OrphanProcess:
    """A process that no run looks after any more."""

    pid: int
    run_id: str
    command: str

    @property
    def shown(self) -> str:
        """For people, on one line."""
        return f"pid {self.pid} ({one_line(self.command, 60)})"


def find_orphans(root: Path) -> tuple[OrphanProcess, ...]:
    """Return the processes that earlier runs of this project left; call it only while no loop of the project runs."""
    import psutil

    here = os.path.realpath(root)
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            run_id = environment.get(RUN_MARK)
            if run_id and environment.get(AGENT_OF) == here and process.pid != os.getpid():
                command = " ".join(process.cmdline()) or process.name()
                found.append(OrphanProcess(process.pid, run_id, command))
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to read
            continue
    return tuple(found)


def end_orphans(strays: tuple[OrphanProcess, ...]) -> None:
    """End orphans and what they start meanwhile, identified by their mark, never by a pid alone."""
    for run_id in {stray.run_id for stray in strays}:
        end_marked(RUN_MARK, run_id)


def described(strays: tuple[OrphanProcess, ...]) -> str:
    """Describe orphans in one sentence."""
    names = shortlist([stray.shown for stray in strays], _SHOWN)
    one = len(strays) == 1
    what = "A process" if one else f"{len(strays)} processes"
    return f"{what} of a run that died {'is' if one else 'are'} still there: {names}."


async def settle_orphans(
    root: Path, project_state: ProjectState, emit: EventSink, request: RunRequest
) -> None:
    """End what a dead run left before anything is started, if the person says so.

    Somebody who can decide is asked; `--yes` is a decision; else it is only told.

    Args:
        root: The project directory.
        project_state: Where the person is asked.
        emit: Takes the notices.
        request: Says whether a person is here, and whether `--yes` decides.
    """
    strays = await asyncio.to_thread(find_orphans, root)
    if not strays:
        return
    told = described(strays)
    if request.assume_yes:
        ending = True
    elif request.interactive and not request.no_input:
        ending = await _ask(project_state, request, told)
    else:
        emit(ev.Notice(level="warning", text=f"{told} {BY_HAND}"))
        return
    if ending:
        await asyncio.to_thread(end_orphans, strays)
    emit(ev.Notice(text=f"{told} {'Ended.' if ending else 'Left alone.'}"))


async def _ask(project_state: ProjectState, request: RunRequest, told: str) -> bool:
    """Ask whether to end them; a request to stop counts as no."""
    question = Question(
        question=f"{told} End them before the loop starts?",
        header="Strays",
        options=(
            Option(label=END, description="They would change files beside the new run."),
            Option(label=LEAVE, description="They continue."),
        ),
    )
    batch = uuid.uuid4().hex[:8]
    asked = AskedQuestion(
        id=f"q-{batch}-1",
        batch=batch,
        phase=Phase.BUILDING,
        question=question,
        asked_at=datetime.now(UTC),
        answer=request.answers.to(question),
    )

    def stopping() -> bool:
        return project_state.docs.state.stop is not StopMode.NONE

    (now,) = await answered(project_state, (asked,), gives_up=stopping)
    if not now.is_open:
        return now.answer is not None and END in now.answer.labels

    def withdraw(docs: Documents) -> Documents:
        log = docs.questions.changing(asked.id, withdrawn=True)
        return docs.replacing(questions=log)

    await project_state.transact(withdraw)
    return False
