"""Find processes left by a run whose watchdog died too, and end them if the person agrees."""

import asyncio
import os
import uuid
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState, answer_to, withdraw
from ralph_tui.engine.safety.processes import RUN_MARK, end_marked
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project_root import AGENT_OF

END, LEAVE = "End them", "Leave them"
HOW_TO_END = "End them with `ralph doctor --end-strays`, or start the run with --yes."
_SHOWN = 5


@dataclass(frozen=True)
class OrphanProcess:
    """A process left by a run that died."""

    pid: int
    run_id: str
    command: str

    @property
    def shown(self) -> str:
        return f"pid {self.pid} ({one_line(self.command, 60)})"


def find_orphans(root: Path) -> tuple[OrphanProcess, ...]:
    """Return the processes left by earlier runs of this project. Call it only while no loop of the project runs."""
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
        except (psutil.Error, OSError):  # ended meanwhile, or not readable
            continue
    return tuple(found)


def end_orphans(orphans: tuple[OrphanProcess, ...]) -> None:
    for run_id in {orphan.run_id for orphan in orphans}:
        end_marked(RUN_MARK, run_id)


def described(orphans: tuple[OrphanProcess, ...]) -> str:
    names = shortlist([orphan.shown for orphan in orphans], _SHOWN)
    one = len(orphans) == 1
    what = "A process" if one else f"{len(orphans)} processes"
    return f"{what} left by a run that died {'is' if one else 'are'} still running: {names}."


async def settle_orphans(
    root: Path,
    project_state: ProjectState,
    emit: EventSink,
    request: RunRequest,
    timeout_seconds: float,
) -> None:
    """Report orphans before a run, and end them if the person agrees.

    A person who is present is asked. `--yes` ends them. Otherwise they are only reported.

    Args:
        timeout_seconds: How long to wait for an answer before the run is stopped; 0 for no limit.
    """
    orphans = await asyncio.to_thread(find_orphans, root)
    if not orphans:
        return
    sentence = described(orphans)
    if request.assume_yes:
        ending = True
    elif request.interactive and not request.no_input:
        ending = await _ask(project_state, emit, request, sentence, timeout_seconds)
    else:
        emit(ev.Notice(level="warning", text=f"{sentence} {HOW_TO_END}"))
        return
    if ending:
        await asyncio.to_thread(end_orphans, orphans)
    emit(ev.Notice(text=f"{sentence} {'Ended.' if ending else 'Left running.'}"))


async def _ask(
    project_state: ProjectState,
    emit: EventSink,
    request: RunRequest,
    sentence: str,
    timeout_seconds: float,
) -> bool:
    question = Question(
        question=f"{sentence} End them before the loop starts?",
        header="Leftovers",
        options=(
            Option(label=END, description="They could change files during the new run."),
            Option(label=LEAVE, description="They keep running."),
        ),
    )
    batch = uuid.uuid4().hex[:8]
    asked = AskedQuestion(
        id=f"q-{batch}-1",
        batch=batch,
        phase=Phase.BUILDING,
        question=question,
        asked_at=utc_now(),
        answer=request.answers.to(question),
    )

    def stopping() -> bool:
        return project_state.docs.state.stop is not StopMode.NONE

    then = await answer_to(project_state, emit, asked, utc_now, timeout_seconds, stopping)
    if then.is_open:
        await withdraw(project_state, asked.id)
    return then.answer is not None and END in then.answer.labels
