"""A project seen from outside: its files while nothing runs, the journal while another process runs the loop.

As soon as somebody owns the lock, the journal of that run is told and then every new line of it; when
the owner is gone, the files are looked at again.
"""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ralph_tui.domain.events import Event, LoopFound, LoopLost, Notice
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.ports import EventSink
from ralph_tui.store.journal import last_run, read_events, tail_events
from ralph_tui.store.lock import LoopLock, Owner
from ralph_tui.store.project import Project
from ralph_tui.store.scan import Scan

Told = Coroutine[None, None, None]

OWNER_SECONDS = 0.5
"""How often to look who runs the loop."""

CATCH_UP = 2_000
"""Events read in one go."""

RECENT = 16 * 1024 * 1024
"""Bytes of a run that are told in full when it is met; of what was before, only what still counts."""

LASTING = frozenset(
    {
        *("loop_started", "phase_changed", "plan_loaded", "task_changed", "limits_changed"),
        *("question_asked", "question_answered", "approval_requested", "approval_given"),
        *("injection_queued", "injection_consumed", "specs_checked", "validation_finished"),
        *("tool_denied", "breaker_changed", "loop_finished"),
    }
)
"""The events that a view of the loop still shows after any number of others."""

SHORTENED = "This run is long: only its last part is here. Iterations and replay has all of it."


async def follow_project(root: Path, sink: EventSink) -> None:
    """Tell what happens in a project, whoever makes it happen, until cancelled.

    A loop of another process is told from its start; `LoopFound` says that its past has been told, and
    `LoopLost` that it ended or died.

    Raises:
        StoreError: The project cannot be read.
    """
    project = Project(root)
    lock = LoopLock(project.layout)
    while True:
        owner = await asyncio.to_thread(lock.owner)
        if owner is None:
            await _until(_owner_is_not(lock, None), _watch_documents(project, sink))
        else:
            await _follow(project, lock, owner, sink)


async def _watch_documents(project: Project, sink: EventSink) -> None:
    ledger = Ledger(project, sink, requests=False)
    await ledger.open()
    await ledger.follow()


async def _follow(project: Project, lock: LoopLock, owner: Owner, sink: EventSink) -> None:
    path = project.layout.events
    place = _Place(await asyncio.to_thread(_beginning, path, owner))
    await _tell_past(path, place, sink)
    sink(LoopFound(pid=owner.pid, host=owner.host, since=owner.since))
    await _until(_owner_is_not(lock, owner), _tail(path, place, sink))
    await _tell_past(path, place, sink)  # its last words may not have been noticed yet
    sink(LoopLost(pid=owner.pid))


@dataclass
class _Place:
    """How far the journal was told."""

    offset: int


def _beginning(path: Path, owner: Owner) -> int:
    """Where the owner's run begins in the journal; its end when that run has said nothing yet."""
    found = last_run(path)
    if found is not None and found[1].run_id == owner.run_id:
        return found[0]
    return _size(path)


async def _tell_past(path: Path, place: _Place, sink: EventSink) -> None:
    """Tell what stands in the journal now; a million events would take minutes to be shown."""
    size = await asyncio.to_thread(_size, path)
    if size - place.offset > RECENT:
        scan = Scan(path, LASTING, start=place.offset, stop=size - RECENT)
        await _tell(((found.end, found.event) for found in scan), place, sink)
        place.offset = scan.end
        sink(Notice(text=SHORTENED))
    await _tell(read_events(path, place.offset), place, sink)


async def _tell(found: Iterator[tuple[int, Event]], place: _Place, sink: EventSink) -> None:
    def some() -> Sequence[tuple[int, Event]]:
        return list(islice(found, CATCH_UP))

    while batch := await asyncio.to_thread(some):
        for _, event in batch:
            sink(event)
        place.offset = batch[-1][0]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


async def _tail(path: Path, place: _Place, sink: EventSink) -> None:
    async with contextlib.aclosing(tail_events(path, place.offset)) as found:
        async for offset, event in found:
            place.offset = offset
            sink(event)


async def _owner_is_not(lock: LoopLock, owner: Owner | None) -> None:
    """Wait until somebody else than `owner` runs the loop, or nobody."""
    while await asyncio.to_thread(lock.owner) == owner:  # noqa: ASYNC110 - no other process tells us
        await asyncio.sleep(OWNER_SECONDS)


async def _until(over: Told, work: Told) -> None:
    """Do `work` until it is `over`; a failure of either ends both."""
    tasks = (asyncio.create_task(work), asyncio.create_task(over))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
