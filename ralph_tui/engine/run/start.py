"""Start a run for a face: check before anything is spent, take the lock, open the journal."""

import asyncio
import os
import uuid
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.events import EventSink, LoopFinished
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.redaction import hide, secret_values
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.event_bus import EventBus
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.lifecycle import can_ask, first_phase
from ralph_tui.engine.run.runner import Runner
from ralph_tui.engine.safety.command_sandbox import confine
from ralph_tui.engine.safety.phase_extensions import check_extras, extra_values
from ralph_tui.engine.verification.coverage import require_checks, uncovered
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.guard.repository.watcher import GitWatch
from ralph_tui.guard.sandbox.environ_block import blank_keys
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.journal.journal_location import move_journal
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project


async def run_loop(
    root: Path, services: RunServices, request: RunRequest, sink: EventSink
) -> LoopFinished:
    """Run the loop to its end.

    Args:
        root: The project directory.
        services: What the face brings.
        request: What the person asked for.
        sink: Takes every event, on the caller's event loop.

    Raises:
        RalphError: Something is wrong that was found before anything was started or spent.
    """
    hide(secret_values(os.environ))
    blank_keys()
    hide(extra_values(services.settings, services.everything))
    project = Project(root)
    phase = await asyncio.to_thread(_check_before_start, project, services, request)
    held = await asyncio.to_thread(confine, root, services.settings.safety, services.everything)
    run_id = uuid.uuid4().hex
    lock = LoopLock(project.layout)
    await asyncio.to_thread(lock.acquire, run_id)
    try:
        journal = await asyncio.to_thread(_open_journal, project)
        bus = EventBus(journal, sink)
        bus.start()
        for text in journal.damage:
            bus.emit(ev.Notice(level="warning", text=text))
        try:
            running = Runner(project, services, request, bus, run_id, held)
            finished = await running.run(phase)
            bus.emit(finished)
        finally:
            await bus.close()
    finally:
        await asyncio.shield(asyncio.to_thread(lock.release))
    return finished


def _open_journal(project: Project) -> JournalWriter:
    project.transact(lambda docs: docs)  # the place of ralph's own copies is there from now on
    move_journal(project.layout)
    return JournalWriter(project.layout.events)


def _check_before_start(project: Project, services: RunServices, request: RunRequest) -> Phase:
    _require_a_name(project.root)
    LoopLock(project.layout).require_free()  # or another loop's plan would be what is wrong
    phase = first_phase(project, project.load(), request)
    ahead = tuple(Phase)[tuple(Phase).index(phase) :] if request.only is None else (phase,)
    check_extras(services.settings, ahead, project.root, services.everything)
    services.preflight()
    _require_checks(project, services, request, phase)
    GitWatch(project.root).snapshot()
    project.create()  # a hand-made .ralph lacks the directories the loop writes to
    return phase


def _require_checks(
    project: Project, services: RunServices, request: RunRequest, phase: Phase
) -> None:
    """Refuse a plan with tasks that no check can verify, where nobody is there to be asked about it."""
    if phase is Phase.BUILDING and not can_ask(request):
        settings = services.settings
        rules = ChecksOfRun(project.root, settings).rules()
        require_checks(uncovered(project.load().plan, settings.phases.building, rules))


def _require_a_name(root: Path) -> None:
    """Refuse a directory whose name the CLI cannot take: it would end at once, without saying why.

    Raises:
        SetupError: The path is not valid UTF-8.
    """
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(root).decode("utf-8", "replace")
        raise SetupError(
            f"The name of {shown} is not valid UTF-8, and the Claude Code CLI cannot work there.",
            "Rename the directory, or work in another one.",
        ) from error
