"""Watch a project from outside: its files while no loop runs, the journal while another process runs one.

Once a process owns the lock, the events of its run are emitted from the journal, then each new one. When the
owner is gone, the files are watched again. A read error is reported once, and reading is retried.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import (
    KINDS,
    CatchingUp,
    Event,
    EventSink,
    Lasting,
    LoopFound,
    LoopLost,
    Notice,
    ProjectUnreadable,
)
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.store.feature_choice import checked_out
from ralph_tui.store.journal.event_scanner import Scan
from ralph_tui.store.journal.journal import last_run, read_events, tail_events
from ralph_tui.store.lock import LoopLock, Owner
from ralph_tui.store.project import Documents, Project

Work = Coroutine[None, None, None]

OWNER_SECONDS = 1.0

CATCH_UP = 2_000

RECENT = 16 * 1024 * 1024
"""Bytes at the end of a run's journal that are emitted in full; before them, only lasting events are."""

LASTING = frozenset(
    kind.model_fields["type"].default for kind in KINDS if issubclass(kind, Lasting)
)

SHORTENED = "This run is long, so only its last part is shown. The whole run is under Iterations."


LONG = 1024 * 1024
"""Bytes of a journal that take so long to read that progress is shown."""

AGAIN_SECONDS = 0.5


async def follow_project(root: Path, sink: EventSink, settings: Settings | None = None) -> None:
    """Emit the events of a project, whoever causes them, until canceled.

    The events of another process's loop are emitted from its start. `LoopFound` means that its past events
    have been emitted, and `LoopLost` that the loop has ended or died. `ProjectUnreadable` reports a read error
    once; after the error is fixed, earlier events are not repeated.
    """
    watcher = _ProjectWatcher(Project(root), sink, settings or Settings())
    while True:
        try:
            await watcher.follow()
        except StoreError as error:
            watcher.report_problem(str(error))
            await asyncio.sleep(AGAIN_SECONDS)


class _ProjectWatcher:
    """Watches a project, and remembers what was emitted, so that it can continue after an error."""

    def __init__(self, project: Project, sink: EventSink, settings: Settings) -> None:
        self._project = project
        self._sink = sink
        self._standing = partial(project_read, project, settings)
        self._lock = LoopLock(project.layout)
        self._project_state = self._new_project_state()
        self._run_id, self._offset = "", 0
        """How much of which run's journal has been emitted."""
        self._followed_owner: Owner | None = None
        """The owner of the loop that is followed, until its end is emitted."""
        self._problem = ""

    def _new_project_state(self) -> ProjectState:
        return ProjectState(self._project, self._sink, standing=self._standing)

    def report_problem(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._sink(ProjectUnreadable(reason=problem))

    async def follow(self) -> None:
        owner = await asyncio.to_thread(self._lock.owner)
        gone = self._followed_owner
        if gone is not None and gone != owner:
            await self._emit_past(gone)
            self._followed_owner = None
            self._sink(LoopLost(pid=gone.pid))
            self._project_state = self._new_project_state()
        if owner is None:
            await run_until(owner_is_not(self._lock, None), self._watch_documents())
        else:
            await self._follow(owner)

    async def _watch_documents(self) -> None:
        if self._project_state.is_open:
            await self._project_state.refresh()
        else:
            await self._project_state.open()
        if self._problem:
            self._problem = ""
            self._sink(self._standing(self._project_state.docs))
        await self._project_state.follow()

    async def _follow(self, owner: Owner) -> None:
        path = self._project.layout.events
        if self._run_id != owner.run_id:
            found = await asyncio.to_thread(last_run, path)
            begun = found is not None and found[1].run_id == owner.run_id
            size = await asyncio.to_thread(_size, path)
            self._run_id, self._offset = owner.run_id, found[0] if found and begun else size
        await self._emit_past(owner)
        self._problem = ""
        self._followed_owner = owner
        self._sink(LoopFound(pid=owner.pid, host=owner.host, since=owner.since))
        await run_until(owner_is_not(self._lock, owner), self._tail(path))

    async def _tail(self, path: Path) -> None:
        async with contextlib.aclosing(tail_events(path, self._offset)) as found:
            async for offset, event in found:
                self._offset = offset
                self._sink(event)

    async def _emit_past(self, owner: Owner) -> None:
        """Emit the current content of the journal; of older events, only the lasting ones.

        A million events would take minutes to show.
        """
        path = self._project.layout.events
        size = await asyncio.to_thread(_size, path)
        is_long = size - self._offset > LONG
        if is_long:
            self._sink(CatchingUp(pid=owner.pid))
        if size - self._offset > RECENT:
            scan = Scan(path, LASTING, start=self._offset, stop=size - RECENT)
            async for _ in self._emitted((found.end, found.event) for found in scan):
                pass
            self._offset = scan.end
            self._sink(Notice(text=SHORTENED))
        begun = self._offset
        async for offset in self._emitted(read_events(path, begun)):
            if is_long:
                percent = 100 * (offset - begun) // max(1, size - begun)
                self._sink(CatchingUp(pid=owner.pid, percent=percent))

    async def _emitted(self, found: Iterator[tuple[int, Event]]) -> AsyncIterator[int]:
        while batch := await asyncio.to_thread(lambda: list(islice(found, CATCH_UP))):
            for _, event in batch:
                self._sink(event)
            self._offset = batch[-1][0]
            yield self._offset


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


async def owner_is_not(lock: LoopLock, owner: Owner | None) -> None:
    while await asyncio.to_thread(lock.owner) == owner:  # noqa: ASYNC110 - no other process tells us
        await asyncio.sleep(OWNER_SECONDS)


async def run_until(condition: Work, work: Work) -> None:
    tasks = (asyncio.create_task(work), asyncio.create_task(condition))
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()


def with_thresholds(breaker: CircuitBreaker, settings: Settings) -> CircuitBreaker:
    limits = settings.circuit_breaker
    return breaker.model_copy(
        update={
            "max_consecutive_failures": limits.max_consecutive_failures,
            "max_stagnation_iterations": limits.max_stagnation_iterations,
            "max_same_error": limits.max_same_error,
            "max_denied": limits.max_denied,
            "max_tests_only": limits.max_tests_only,
            "max_cost_usd": settings.safety.cost_limits.total,
        }
    )


def project_read(project: Project, settings: Settings, docs: Documents) -> ev.ProjectRead:
    from ralph_tui.engine.verification.detection.project_checks import (
        checks_of,  # slow to import, so not before the first paint
    )

    asked = docs.state.decision
    context, capacity = settings.context, settings.context.capacity_tokens
    plans = docs.state.current_phase in (Phase.DISCOVERY, Phase.PLANNING)
    builds = docs.state.current_phase is Phase.BUILDING
    validated = docs.state.current_phase is Phase.VALIDATION and not docs.state.awaits_decision
    report = project.read_report() if validated else None
    ends, begun = [], last_run(project.layout.events)
    if begun is not None and begun[1].feature == project.layout.feature:
        found = Scan(project.layout.events, ("loop_finished",), start=begun[0])
        ends = [one.event for one in found]
    return ev.ProjectRead(
        project=settings.project.name or project.root.resolve().name,
        phase=docs.state.current_phase,
        max_iterations=settings.phases.building.max_iterations,
        iteration=docs.state.iteration_count,
        context_capacity=200_000 if capacity == "auto" else capacity,
        smart_zone=(ContextBudget().smart_zone_min_percent, context.budget_percent),
        wrap_up_percent=context.handoff_threshold_percent,
        limits=settings.safety.cost_limits,
        costs=CostMeter(session=docs.state.session_cost_usd, total=docs.project_cost),
        breaker=with_thresholds(docs.breaker, settings),
        model=settings.models.planning if plans else settings.models.primary,
        checks=checks_of(project.root, settings),
        unworkable=docs.plan.why_unworkable() if builds else "",
        finished=report is not None and report.confirms(docs.plan),
        awaits=asked.kind if asked is not None and asked.approved is None else None,
        last=ends[-1] if ends and isinstance(ends[-1], ev.LoopFinished) else None,
        feature=docs.feature,
        features=len(docs.project.features),
        request=docs.state.request,
        branch=checked_out(project.root),
    )
