"""Watch a project from outside: its files while nothing runs, the journal while another process runs the loop.

As soon as somebody owns the lock, the journal of that run is emitted, then every new line of it; when
the owner is gone, the files are looked at again. What cannot be read is said, and tried again.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import (
    CatchingUp,
    Event,
    EventSink,
    LoopFound,
    LoopLost,
    Notice,
    ProjectUnreadable,
)
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.run.startup import project_read
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.journal.event_scanner import Scan
from ralph_tui.store.journal.journal import last_run, read_events, tail_events
from ralph_tui.store.lock import LoopLock, Owner
from ralph_tui.store.project import Project

Told = Coroutine[None, None, None]

OWNER_SECONDS = 1.0
"""How often to look who runs the loop."""

CATCH_UP = 2_000
"""Events read in one go."""

RECENT = 16 * 1024 * 1024
"""Bytes of a run's journal that are emitted in full when the run is found; of older ones, only lasting events."""

LASTING = frozenset(
    {
        *("loop_started", "phase_changed", "plan_loaded", "task_changed", "limits_changed"),
        *("question_asked", "question_answered", "approval_requested", "approval_given"),
        *("injection_queued", "injection_consumed", "specs_checked", "validation_finished"),
        *(
            "step_started",
            "step_finished",
            "tool_denied",
            "breaker_changed",
            "files_unfinished",
            "loop_finished",
        ),
    }
)
"""The events that a view of the loop still shows after any number of others."""

SHORTENED = "This run is long: only its last part is here. Iterations and replay has all of it."


LONG = 1024 * 1024
"""Bytes of a journal that take long enough to show progress."""

AGAIN_SECONDS = 0.5
"""How often to look whether what could not be read can be read now."""


async def follow_project(root: Path, sink: EventSink, settings: Settings | None = None) -> None:
    """Emit what happens in a project, whoever causes it, until cancelled.

    A loop of another process is emitted from its start; `LoopFound` says that its past has been emitted, and
    `LoopLost` that it ended or died. `ProjectUnreadable` says once what is wrong; what was reported before
    is not repeated when it is fixed. A feature that gets another name meanwhile is followed under that name.
    """
    begun = utc_now()
    project = Project(root)
    seen = _Seen(project, sink, settings or Settings())
    while True:
        try:
            await seen.follow()
        except StoreError as error:
            renamed = await asyncio.to_thread(_renamed, project, begun)
            if renamed is not None:
                project = renamed
                seen = _Seen(project, sink, settings or Settings())
                continue
            seen.complain(str(error))
            await asyncio.sleep(AGAIN_SECONDS)


def _renamed(project: Project, begun: datetime) -> Project | None:
    """Return the project as the feature that this one is called since a time; None when it has its name."""
    feature = project.layout.feature
    if not feature or project.layout.home.is_dir():
        return None
    try:
        renamings = Project(project.root, "").look().project.renamed
    except StoreError:
        return None  # what is wrong is said already
    name = feature
    for one in renamings:
        if one.old == name and one.at >= begun:
            name = one.new
    found = Project(project.root, name)
    return found if name != feature and found.layout.home.is_dir() else None


@dataclass
class _Place:
    """How far the journal of a run was emitted."""

    run_id: str
    offset: int


class _Seen:
    """Remembers what was emitted of a project, so that watching continues there after an error."""

    def __init__(self, project: Project, sink: EventSink, settings: Settings) -> None:
        self._project = project
        self._sink = sink
        self._standing = partial(project_read, project, settings)
        self._lock = LoopLock(project.layout)
        self._project_state = self._new_project_state()
        self._place: _Place | None = None
        self._met: Owner | None = None
        """Whose loop was found, until its end is emitted."""
        self._trouble = ""

    def _new_project_state(self) -> ProjectState:
        return ProjectState(self._project, self._sink, standing=self._standing)

    def complain(self, trouble: str) -> None:
        """Say what is wrong, once."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._sink(ProjectUnreadable(reason=trouble))

    async def follow(self) -> None:
        """Watch the files until somebody runs the loop, or that loop until it is over.

        Raises:
            StoreError: Something cannot be read.
        """
        owner = await asyncio.to_thread(self._lock.owner)
        if self._met is not None and self._met != owner:
            await self._take_leave(self._met)
        if owner is None:
            await _until(_owner_is_not(self._lock, None), self._watch_documents())
        else:
            await self._follow(owner)

    async def _watch_documents(self) -> None:
        if self._project_state.is_open:
            await self._project_state.refresh()
        else:
            await self._project_state.open()
        if self._trouble:
            self._trouble = ""
            self._sink(self._standing(self._project_state.docs))
        await self._project_state.follow()

    async def _follow(self, owner: Owner) -> None:
        path = self._project.layout.events
        if self._place is None or self._place.run_id != owner.run_id:
            beginning = await asyncio.to_thread(_beginning, path, owner)
            self._place = _Place(owner.run_id, beginning)
        await _tell_past(path, self._place, owner, self._sink)
        self._trouble = ""
        self._met = owner
        self._sink(LoopFound(pid=owner.pid, host=owner.host, since=owner.since))
        await _until(_owner_is_not(self._lock, owner), _tail(path, self._place, self._sink))

    async def _take_leave(self, owner: Owner) -> None:
        """Emit the last events of a loop that is gone, which may have been missed, and that it is gone."""
        if self._place is not None:
            await _tell_past(self._project.layout.events, self._place, owner, self._sink)
        self._met = None
        self._sink(LoopLost(pid=owner.pid))
        self._project_state = self._new_project_state()


def _beginning(path: Path, owner: Owner) -> int:
    """Return where the owner's run begins in the journal; the journal's end when that run wrote nothing yet."""
    found = last_run(path)
    if found is not None and found[1].run_id == owner.run_id:
        return found[0]
    return _size(path)


async def _tell_past(path: Path, place: _Place, owner: Owner, sink: EventSink) -> None:
    """Emit what the journal holds now; a million events would take minutes to show, so of the older ones only those with lasting effect."""
    size = await asyncio.to_thread(_size, path)
    is_long = size - place.offset > LONG
    if is_long:
        sink(CatchingUp(pid=owner.pid))
    if size - place.offset > RECENT:
        scan = Scan(path, LASTING, start=place.offset, stop=size - RECENT)
        await _tell(((found.end, found.event) for found in scan), place, sink)
        place.offset = scan.end
        sink(Notice(text=SHORTENED))
    begun = place.offset

    def passed() -> None:
        if is_long:
            percent = 100 * (place.offset - begun) // max(1, size - begun)
            sink(CatchingUp(pid=owner.pid, percent=percent))

    await _tell(read_events(path, place.offset), place, sink, passed)


async def _tell(
    found: Iterator[tuple[int, Event]],
    place: _Place,
    sink: EventSink,
    passed: Callable[[], None] = lambda: None,
) -> None:
    def some() -> Sequence[tuple[int, Event]]:
        return list(islice(found, CATCH_UP))

    while batch := await asyncio.to_thread(some):
        for _, event in batch:
            sink(event)
        place.offset = batch[-1][0]
        passed()


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
