"""Keep the project's documents as last read, and emit events for their changes.

Ralph's changes and other programs' edits pass through the same comparison under one lock, so each
change is emitted exactly once and no stale copy is ever written back, which
would undo what another program has changed meanwhile.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Literal, TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter, minus
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import REASONED, Approval, RalphState, StopMode
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.engine.control.plan_edits import by_hand
from ralph_tui.engine.control.plan_export import FollowedExports
from ralph_tui.store.documents.documents import InvalidDocumentError, Returning
from ralph_tui.store.project import Documents, Outcome, Project
from ralph_tui.store.watch import watch_project

CLOCK_CHECK_SECONDS = 20.0
"""How often a wait reads the wall clock, because timers do not run while a machine sleeps."""

LAST_VALID = " Until then, ralph uses the last valid version."
"""Added to the error about a file that a person's edit made invalid."""

T = TypeVar("T")

DescribeProject = Callable[[Documents], ev.ProjectRead]


class ProjectState:
    """Reads, changes and follows the documents of one project."""

    def __init__(
        self,
        project: Project,
        emit: EventSink,
        *,
        standing: DescribeProject | None = None,
        exports: FollowedExports | None = None,
    ) -> None:
        """Emit changes to `emit`.

        Args:
            standing: Describes the project where no loop runs. Pause and stop requests are then not emitted,
                because no loop obeys them, and errors are raised instead of emitted.
            exports: Files of other tools, updated after every change of the plan before it is reported.
        """
        self.project = project
        self.exports = exports
        self._exported: ImplementationPlan | None = None
        self._emit = emit
        self._describe = standing
        self._description: ev.ProjectRead | None = None
        self._lock = asyncio.Lock()
        self._docs: Documents | None = None
        self._changed = asyncio.Event()
        self._last_error = ""
        self._undone_notice = ""
        self._unfinished: tuple[str, ...] = ()
        self._writes: set[asyncio.Future[Documents]] = set()
        """Keeps a reference to each running change, because its caller may be cancelled."""

    @property
    def is_open(self) -> bool:
        return self._docs is not None

    @property
    def docs(self) -> Documents:
        if self._docs is None:
            msg = "the project state was not opened"
            raise RuntimeError(msg)
        return self._docs

    async def open(self) -> Documents:
        async with self._lock:
            is_observer = self._describe is not None
            if not is_observer:
                await asyncio.to_thread(self.project.undo_agent_edits)
            read = self.project.look if is_observer else self.project.load
            self._docs = await asyncio.to_thread(read)
            await self._export(self._docs.plan)
            self._report_repairs()
            self._emit_unfinished(self._docs.unfinished)
            self._emit_description(self._docs)
            self._emit(_plan_loaded(self._docs.plan, "start"))
            for injection in self._docs.pending:
                self._emit(ev.InjectionQueued(id=injection.id, text=injection.guidance))
            # A loop asks its own questions, and withdraws those of a run that died.
            if is_observer:
                for question in self._docs.questions.open():
                    self._emit(ev.QuestionAsked(question=question))
                self._emit_approval(None, self._docs.state.decision)
            return self._docs

    async def transact(
        self, change: Callable[[Documents], Documents], reason: str = ""
    ) -> Documents:
        """Change the documents on disk and emit what changed.

        If the caller is cancelled, the change is still written and emitted.

        Raises:
            StoreError: The documents cannot be read or written; nothing changed.
        """
        work = asyncio.ensure_future(self._transact(change, reason))
        self._writes.add(work)
        work.add_done_callback(self._writes.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(self._report_failure)
            raise

    async def transact_returning(
        self, change: Callable[[Documents], Outcome[T]], reason: str = ""
    ) -> Outcome[T]:
        returning = Returning(change)
        documents = await self.transact(returning, reason)
        return Outcome(documents, returning.value)

    def _report_failure(self, work: asyncio.Future[Documents]) -> None:
        if not work.cancelled() and (error := work.exception()) is not None:
            self._emit(ev.Notice(level="error", text=str(error)))

    async def _transact(self, change: Callable[[Documents], Documents], reason: str) -> Documents:
        async with self._lock:
            noting = Returning(lambda docs: Outcome(change(docs), docs))
            docs = await asyncio.to_thread(self.project.transact, noting)
            await self._export(docs.plan)
            # Another program's change since the last look has a reason of its own.
            self._publish(noting.value.replacing(unfinished=docs.unfinished), None)
            self._publish(docs, reason)
            return docs

    async def record_usage(
        self, costs: CostMeter, context: ContextBudget, *, tokens: int, requests: int, now: datetime
    ) -> None:
        """Write costs (in US dollars), context usage, tokens and requests to disk."""

        def change(docs: Documents) -> Documents:
            state = docs.state
            figures = {
                "session_cost_usd": max(state.session_cost_usd, costs.session),
                "total_cost_usd": max(
                    state.total_cost_usd, minus(costs.total, docs.cost_elsewhere)
                ),
                "session_tokens_used": state.session_tokens_used + tokens,
                "total_tokens_used": state.total_tokens_used + tokens,
                "requests": state.requests.counting(requests, now),
            }
            filled = {
                "current_usage": context.current_usage,
                "total_capacity": context.total_capacity,
            }
            return docs.with_state(**figures).replacing(
                budget=docs.budget.model_copy(update=filled)
            )

        await self.transact(change)

    async def refresh(self) -> None:
        """Read the documents again and emit what changed; a loop reports each broken file once.

        Raises:
            StoreError: The documents cannot be read. Only raised where no loop runs.
        """
        async with self._lock:
            try:
                docs = await asyncio.to_thread(self._read_disk)
            except StoreError as error:
                if self._describe is not None:
                    raise
                if str(error) != self._last_error:
                    self._last_error = str(error)
                    instead = LAST_VALID if isinstance(error, InvalidDocumentError) else ""
                    self._emit(ev.Notice(level="error", text=f"{error}{instead}"))
                return
            self._last_error = ""
            await self._export(docs.plan)
            self._publish(docs, None)

    async def _export(self, plan: ImplementationPlan) -> None:
        if self.exports is not None and plan is not self._exported:
            await asyncio.to_thread(self.exports.sync, plan)
            self._exported = plan

    def _read_disk(self) -> Documents:
        if self._describe is None:
            self.project.undo_agent_edits()
        return self.project.look()

    async def follow(self) -> None:
        """Refresh whenever another program changes a file, until cancelled."""
        async with contextlib.aclosing(watch_project(self.project)) as changes:
            await self.refresh()  # what changed before the watch began
            async for _ in changes:
                await self.refresh()

    async def wait_changed(self) -> None:
        await self._changed.wait()

    async def wait_changed_within(self, seconds: float) -> None:
        """Wait as `wait_changed` does, at most `seconds` or until the wall clock must be read again."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wait_changed(), min(seconds, CLOCK_CHECK_SECONDS))

    def _publish(self, docs: Documents, reason: str | None) -> None:
        """Emit what changed, with its reason; None for changes that were read from disk."""
        before, self._docs = self._docs, docs
        self._report_repairs()
        self._emit_unfinished(docs.unfinished)
        if before is None or before == docs:
            return
        self._emit_description(docs)
        self._emit_tasks(before.plan, docs.plan, reason)
        known = {injection.id for injection in before.pending}
        for injection in docs.pending:
            if injection.id not in known:
                self._emit(ev.InjectionQueued(id=injection.id, text=injection.guidance))
        self._emit_questions(before, docs)
        if self._describe is None:
            self._emit_requests(before, docs)
        else:
            self._emit_approval(before.state.decision, docs.state.decision)
        if before.breaker != docs.breaker:
            why = _breaker_words(before.breaker, docs.breaker) if reason is None else reason
            self._emit(ev.BreakerChanged(breaker=docs.breaker, reason=why))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _emit_unfinished(self, names: tuple[str, ...]) -> None:
        if names != self._unfinished:
            self._unfinished = names
            self._emit(ev.FilesUnfinished(names=names))

    def _emit_description(self, docs: Documents) -> None:
        if self._describe is not None and (now := self._describe(docs)) != self._description:
            self._description = now
            self._emit(now)

    def _emit_tasks(
        self, before: ImplementationPlan, after: ImplementationPlan, reason: str | None
    ) -> None:
        if before.tasks == after.tasks:
            return
        old_ids = [task.id for task in before.tasks]
        new_ids = [task.id for task in after.tasks]
        if new_ids[: len(old_ids)] != old_ids:
            self._emit(_plan_loaded(after, "disk"))
            return
        old: dict[str, Task] = {task.id: task for task in before.tasks}
        for task in after.tasks:
            if (was := old.get(task.id)) != task:
                why = by_hand(was, task) if reason is None else reason
                self._emit(ev.TaskChanged(task=task, reason=why))

    def _emit_questions(self, before: Documents, after: Documents) -> None:
        was = {question.id: question for question in before.questions.questions}
        for question in after.questions.questions:
            old = was.get(question.id)
            if old == question:
                continue
            if old is None:
                self._emit(ev.QuestionAsked(question=question))
            if not question.is_open:
                self._emit(ev.QuestionAnswered(question=question))

    def _emit_approval(self, before: Approval | None, after: Approval | None) -> None:
        waited = before is not None and before.approved is None
        waits = after is not None and after.approved is None and after.kind in REASONED
        if after is not None and waits and before != after:
            self._emit(ev.ApprovalRequested(kind=after.kind, summary=after.summary))
        if before is not None and waited and not waits:
            made = after if after is not None and after.kind is before.kind else before
            self._emit(
                ev.ApprovalGiven(
                    kind=before.kind,
                    approved=bool(made.approved),
                    reason=made.reason,
                    by=made.decided_by,
                )
            )

    def _emit_requests(self, before: Documents, after: Documents) -> None:
        was, now = before.state, after.state
        if now.pause is not was.pause:
            paused = ev.PauseRequested(now=now.pause is StopMode.NOW)
            self._emit(ev.LoopResumed() if now.pause is StopMode.NONE else paused)
        if now.adjusted is not None and now.adjusted != was.adjusted:
            self._emit(ev.LimitsChanged(adjusted=now.adjusted))
        if now.stop is not was.stop and now.stop is not StopMode.NONE:
            self._emit(ev.StopRequested(now=now.stop is StopMode.NOW))

    def _report_repairs(self) -> None:
        for message in self.project.damage():
            self._emit(ev.Notice(level="warning", text=message))
        for message in self.project.undone():
            self._undone_notice = self._undone_notice or message
            self._emit(ev.Notice(level="error", text=message))

    def take_undone(self) -> str:
        first, self._undone_notice = self._undone_notice, ""
        return first


async def unless(
    project_state: ProjectState, work: Awaitable[T], ends: Callable[[RalphState], bool]
) -> T | None:
    """Return the result of `work`, or cancel it and return None as soon as the state `ends` it."""
    running = asyncio.ensure_future(work)
    try:
        while not running.done():
            changed = asyncio.ensure_future(project_state.wait_changed())
            await asyncio.sleep(0)  # lets it start waiting, so that no change is missed
            over = ends(project_state.docs.state)
            if not over:
                await asyncio.wait([running, changed], return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if over:
                return None
        return running.result()
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait([running])


def _breaker_words(before: CircuitBreaker, after: CircuitBreaker) -> str:
    """Return why the breaker changed on disk; empty for a new cost limit, which is reported elsewhere."""
    if after == before.reset(after.reset_reason):
        return f"reset by hand: {after.reset_reason}"
    raised = before.model_copy(update={"max_cost_usd": after.max_cost_usd})
    return "" if after == raised else "changed by hand"


def _plan_loaded(plan: ImplementationPlan, source: Literal["start", "disk"]) -> ev.PlanLoaded:
    return ev.PlanLoaded(tasks=plan.tasks, source=source, title=plan.title, retired=plan.retired)
