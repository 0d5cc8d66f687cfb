"""Keep the project's documents as last seen, and emit events for their changes.

Our own changes and other programs' edits pass through the same comparison under one lock, so each
change is emitted exactly once and nobody's private copy is ever written back (DESIGN law 1).
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter, minus
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EventSink, FilesUnfinished
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import REASONED, Approval, RalphState, StopMode
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.engine.control.attribution import CHANGED_ON_DISK, breaker_words
from ralph_tui.engine.control.plan_export import FollowedExports
from ralph_tui.store.documents import snapshot
from ralph_tui.store.documents.documents import InvalidDocumentError, Returning
from ralph_tui.store.documents.snapshot import BeingWrittenError
from ralph_tui.store.project import Documents, Outcome, Project
from ralph_tui.store.watch import watch_project

QUIET_SECONDS = 0.5
"""An editor that takes no longer to save is not worth a word."""


class PartialFiles:
    """Remembers since when files are incomplete, and what was reported about it."""

    def __init__(self, emit: EventSink, clock: Callable[[], float] = time.monotonic) -> None:
        """Tell `emit`; `clock` counts seconds."""
        self._emit = emit
        self._clock = clock
        self._since: float | None = None
        self._told: tuple[str, ...] = ()

    @property
    def is_pending(self) -> bool:
        """Whether there is something to say soon, if it stays so."""
        return self._since is not None and not self._told

    def look(self, names: tuple[str, ...]) -> None:
        """Note which files are incomplete now."""
        now = self._clock()
        self._since = (self._since if self._since is not None else now) if names else None
        if self._since is not None and not self._told and now - self._since < QUIET_SECONDS:
            return
        if names != self._told:
            self._told = names
            self._emit(FilesUnfinished(names=names))


AGAIN_SECONDS = 0.25
"""How soon a file is looked at again that was not whole."""

LAST_VALID = " Until then the last valid version is used."
"""Said of a file that a person edited to something that is not valid."""

T = TypeVar("T")

Standing = Callable[[Documents], ev.ProjectRead]


class ProjectState:
    """Reads, changes and follows the documents of one project."""

    def __init__(
        self,
        project: Project,
        emit: EventSink,
        *,
        standing: Standing | None = None,
        exports: FollowedExports | None = None,
    ) -> None:
        """Tell changes to `emit`.

        Where no loop runs, `standing` describes the state of the project; then pause and stop requests are
        not emitted, because no loop obeys them, and errors are raised instead of emitted. `exports` follow
        every change of the plan before it is reported.
        """
        self.project = project
        self._exports = exports
        self._exported: ImplementationPlan | None = None
        self._emit = emit
        self._standing = standing
        self._told: ev.ProjectRead | None = None
        self._lock = asyncio.Lock()
        self._docs: Documents | None = None
        self._changed = asyncio.Event()
        self._complaint = ""
        self._undone = ""
        self._unfinished = PartialFiles(emit)
        self._begun: set[asyncio.Future[Documents]] = set()
        """Changes that are being made; nobody else keeps those whose caller was cancelled."""

    @property
    def is_open(self) -> bool:
        """Whether it was read at all."""
        return self._docs is not None

    @property
    def docs(self) -> Documents:
        """The documents as last seen."""
        if self._docs is None:
            msg = "the project state was not opened"
            raise RuntimeError(msg)
        return self._docs

    async def open(self) -> Documents:
        """Read everything and emit the whole plan.

        Raises:
            StoreError: The documents cannot be read.
        """
        async with self._lock:
            only_looks = self._standing is not None
            if not only_looks:
                await asyncio.to_thread(self.project.undo_agents_edits)
            read = self.project.look if only_looks else self.project.load
            self._docs = await asyncio.to_thread(read)
            await self._export(self._docs.plan)
            self._report_damage()
            self._unfinished.look(self._docs.unfinished)
            self._tell_standing(self._docs)
            self._emit(_plan_loaded(self._docs.plan, "start"))
            for injection in self._docs.pending:
                self._emit(ev.InjectionQueued(id=injection.id, text=injection.guidance))
            # A loop asks itself, and withdraws what a dead one asked.
            if self._standing is not None:
                for question in self._docs.questions.open():
                    self._emit(ev.QuestionAsked(question=question))
                self._tell_approval(None, self._docs.state.decision)
            return self._docs

    async def transact(
        self, change: Callable[[Documents], Documents], reason: str = ""
    ) -> Documents:
        """Change the documents on disk and emit what changed.

        A caller that is cancelled meanwhile leaves the change to be made and told: what is begun on disk cannot be
        called back.

        Raises:
            StoreError: The documents cannot be read or written; nothing changed.
        """
        work = asyncio.ensure_future(self._transact(change, reason))
        self._begun.add(work)
        work.add_done_callback(self._begun.discard)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            work.add_done_callback(self._tell_failure)
            raise

    async def transact_returning(
        self, change: Callable[[Documents], Outcome[T]], reason: str = ""
    ) -> Outcome[T]:
        """Change the documents as `transact` does; return also what `change` found out."""
        returning = Returning(change)
        documents = await self.transact(returning, reason)
        return Outcome(documents, returning.value)

    def _tell_failure(self, work: asyncio.Future[Documents]) -> None:
        """Report a failed write that nobody waits for any more."""
        error = None if work.cancelled() else work.exception()
        if error is not None:
            self._emit(ev.Notice(level="error", text=str(error)))

    async def _transact(self, change: Callable[[Documents], Documents], reason: str) -> Documents:
        started = time.monotonic()
        while True:
            try:
                async with self._lock:
                    docs = await asyncio.to_thread(self.project.transact_now, change)
                    await self._export(docs.plan)
                    self._publish(docs, reason)
                    return docs
            except BeingWrittenError:
                if time.monotonic() - started > snapshot.LONGEST_EDIT:
                    raise
            await asyncio.sleep(AGAIN_SECONDS)
            await self.refresh()  # says what is waited for

    async def record_usage(
        self, costs: CostMeter, context: ContextBudget, *, tokens: int, requests: int, now: datetime
    ) -> None:
        """Write down what was spent, how full the context is, and how many more tokens and requests it took.

        Args:
            costs: What was spent so far, in US dollars.
            context: How full the session's context is.
            tokens: How many more tokens it took.
            requests: How many more requests to the model it took.
            now: When they were made, in UTC.
        """

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

    async def learn(self, category: str, text: str) -> None:
        """Append one line to progress.txt."""
        await asyncio.to_thread(self.project.append_learning, category, text)

    async def refresh(self) -> None:
        """Read the disk and emit what changed; a loop hears of a broken file once.

        Raises:
            StoreError: The documents cannot be read, and no loop runs.
        """
        async with self._lock:
            try:
                docs = await asyncio.to_thread(self._look)
            except StoreError as error:
                if self._standing is not None:
                    raise
                if str(error) != self._complaint:
                    self._complaint = str(error)
                    instead = LAST_VALID if isinstance(error, InvalidDocumentError) else ""
                    self._emit(ev.Notice(level="error", text=f"{error}{instead}"))
                return
            self._complaint = ""
            await self._export(docs.plan)
            self._publish(docs, CHANGED_ON_DISK)

    async def _export(self, plan: ImplementationPlan) -> None:
        """Bring the followed files of other tools up to date, when the plan has changed."""
        if self._exports is not None and plan is not self._exported:
            await asyncio.to_thread(self._exports.sync, plan)
            self._exported = plan

    def _look(self) -> Documents:
        """Return the documents on disk; a loop first undoes what its agent's commands changed in them."""
        if self._standing is None:
            self.project.undo_agents_edits()
        return self.project.look()

    async def follow(self) -> None:
        """Refresh whenever another program changes a file, until cancelled."""
        async with contextlib.aclosing(watch_project(self.project)) as changes:
            await self._read_whole()  # what changed before the watch began
            async for _ in changes:
                await self._read_whole()

    async def _read_whole(self) -> None:
        """Read again until incomplete files are whole or reported; a later change triggers the next read."""
        await self.refresh()
        while self._unfinished.is_pending:
            await asyncio.sleep(AGAIN_SECONDS)
            await self.refresh()

    async def wait_changed(self) -> None:
        """Return after the next change of any document, ours or another program's."""
        await self._changed.wait()

    def _publish(self, docs: Documents, reason: str) -> None:
        before, self._docs = self._docs, docs
        self._report_damage()
        self._unfinished.look(docs.unfinished)
        if before is None or before == docs:
            return
        self._tell_standing(docs)
        self._tell_tasks(before.plan, docs.plan, reason)
        known = {injection.id for injection in before.pending}
        for injection in docs.pending:
            if injection.id not in known:
                self._emit(ev.InjectionQueued(id=injection.id, text=injection.guidance))
        self._tell_questions(before, docs)
        if self._standing is None:
            self._tell_requests(before, docs)
        else:
            self._tell_approval(before.state.decision, docs.state.decision)
        if before.breaker != docs.breaker:
            by_hand = reason == CHANGED_ON_DISK
            why = breaker_words(before.breaker, docs.breaker) if by_hand else reason
            self._emit(ev.BreakerChanged(breaker=docs.breaker, reason=why))
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _tell_standing(self, docs: Documents) -> None:
        if self._standing is not None and (now := self._standing(docs)) != self._told:
            self._told = now
            self._emit(now)

    def _tell_tasks(
        self, before: ImplementationPlan, after: ImplementationPlan, reason: str
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
            if old.get(task.id) != task:
                self._emit(ev.TaskChanged(task=task, reason=reason))

    def _tell_questions(self, before: Documents, after: Documents) -> None:
        was = {question.id: question for question in before.questions.questions}
        for question in after.questions.questions:
            old = was.get(question.id)
            if old == question:
                continue
            if old is None:
                self._emit(ev.QuestionAsked(question=question))
            if not question.is_open:
                self._emit(ev.QuestionAnswered(question=question))

    def _tell_approval(self, before: Approval | None, after: Approval | None) -> None:
        """Emit the decision that waits on disk while no loop is here to ask for it."""
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

    def _tell_requests(self, before: Documents, after: Documents) -> None:
        was, now = before.state, after.state
        if now.pause is not was.pause:
            if now.pause is StopMode.NONE:
                self._emit(ev.LoopResumed())
            else:
                self._emit(ev.PauseRequested(now=now.pause is StopMode.NOW))
        if now.adjusted is not None and now.adjusted != was.adjusted:
            self._emit(ev.LimitsChanged(adjusted=now.adjusted))
        if now.stop is not was.stop and now.stop is not StopMode.NONE:
            self._emit(ev.StopRequested(now=now.stop is StopMode.NOW))

    def _report_damage(self) -> None:
        for message in self.project.damage():
            self._emit(ev.Notice(level="warning", text=message))
        for message in self.project.undone():
            self._undone = self._undone or message
            self._emit(ev.Notice(level="error", text=message))

    def take_undone(self) -> str:
        """Return the first undone change of the agent since the last call; empty without one."""
        first, self._undone = self._undone, ""
        return first


async def unless(
    project_state: ProjectState, work: Awaitable[T], ends: Callable[[RalphState], bool]
) -> T | None:
    """Return what long work comes to; None, with the work cancelled, as soon as the state `ends` it."""
    running = asyncio.ensure_future(work)
    try:
        while not running.done():
            changed = asyncio.ensure_future(project_state.wait_changed())
            await asyncio.sleep(0)  # it waits from here on, so that no change is missed
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


Asked = tuple[AskedQuestion, ...]


class Deadline(Protocol):
    """When the time for an answer is over."""

    async def passed(self) -> bool:
        """Wait until a document changes or the time may be over; returns whether it is."""
        ...


async def answered(
    project_state: ProjectState,
    asked: Asked,
    *,
    gives_up: Callable[[], bool] = lambda: False,
    until: Deadline | None = None,
) -> Asked:
    """Ask, and wait until no question is open or the wait is over; answered questions are not asked again.

    Args:
        project_state: The documents.
        asked: The questions.
        gives_up: Whether the loop does not want to wait any longer.
        until: Ends the wait at its time.
    """
    await ask(project_state, asked)
    while True:
        log = project_state.docs.questions
        asked = tuple(log.find(question.id) or question for question in asked)
        if gives_up() or not any(question.is_open for question in asked):
            return asked
        if lost := [question for question in asked if log.find(question.id) is None]:
            await ask(project_state, lost)  # nobody could answer it
        elif until is None:
            await project_state.wait_changed()
        elif await until.passed():
            log = project_state.docs.questions
            return tuple(log.find(question.id) or question for question in asked)


async def ask(project_state: ProjectState, asked: Sequence[AskedQuestion]) -> None:
    """Write questions down; those already there stay as they are."""

    def change(docs: Documents) -> Documents:
        new = [question for question in asked if docs.questions.find(question.id) is None]
        return docs.replacing(questions=docs.questions.asking(new))

    await project_state.transact(change)


def _plan_loaded(plan: ImplementationPlan, source: Literal["start", "disk"]) -> ev.PlanLoaded:
    return ev.PlanLoaded(tasks=plan.tasks, source=source, title=plan.title, retired=plan.retired)
