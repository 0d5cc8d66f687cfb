"""One iteration: one task, one fresh session, one outcome."""

import asyncio
import contextlib
import time
from enum import StrEnum

from ralph_tui.domain import events as ev
from ralph_tui.domain.budget import BudgetDecision
from ralph_tui.domain.events import FailureClass, IterationOutcome
from ralph_tui.domain.model import Count, Model, Money
from ralph_tui.domain.plan import Task, TaskStatus
from ralph_tui.domain.state import Halt
from ralph_tui.engine.desk import Desk
from ralph_tui.engine.handoff import write_handoff
from ralph_tui.engine.metering import Meter, limit_event
from ralph_tui.engine.ports import AgentSession, Failure, SessionSpec, TurnEnded, TurnUsage
from ralph_tui.engine.prompting import handoff_prompt, wrap_up_note
from ralph_tui.engine.workshop import Workshop

NOT_THE_TASKS_FAULT = frozenset(
    {
        FailureClass.AUTHENTICATION,
        FailureClass.BILLING,
        FailureClass.USAGE_LIMIT,
        FailureClass.OVERLOADED,
        FailureClass.NETWORK,
        FailureClass.BAD_REQUEST,
        FailureClass.CLI_DIED,
        FailureClass.CLI_SILENT,
        FailureClass.SETUP,
    }
)
"""Failures that say nothing about the task, so they cost it no retry."""


class Cut(StrEnum):
    """Why a running turn was interrupted."""

    NONE = ""
    STOP = "stopped at once"
    PAUSE = "paused at once"
    TASK_TAKEN = "the person took the task away"
    COST = "a cost limit was reached"
    CONTEXT = "the context was full"
    TIME = "the iteration took too long"


class IterationResult(Model):
    """What the loop records of an iteration."""

    outcome: IterationOutcome
    reason: str
    session_id: str = ""
    failure: Failure | None = None
    counts_as_retry: bool = False
    handed_off: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    context_tokens: Count = 0
    seconds: Money = 0.0
    files: tuple[str, ...] = ()


class Iteration:
    """Runs one attempt at one task; the task is in progress when it starts."""

    def __init__(
        self, shop: Workshop, task: Task, *, number: int, spec: SessionSpec, meter: Meter
    ) -> None:
        """Attempt `task` in a session made to `spec`."""
        self._shop = shop
        self._task = task
        self._number = number
        self._spec = spec
        self._meter = meter
        self._desk = Desk(task.id, shop, meter=meter, on_claim=self._prepare_next)
        self._cut = Cut.NONE
        self._session: AgentSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._session_id = ""
        self._handed_off = False
        self._reported: ev.UsageReported | None = None

    async def run(self, prompt: str) -> tuple[IterationResult, AgentSession]:
        """Work on the task; the caller closes the session.

        Raises:
            SetupError: No session could be started.
            StoreError: The documents could not be read or written.
        """
        started = time.monotonic()
        self._session = session = await self._shop.agent.open(self._spec, self._desk)
        limit = self._shop.settings.phases.building.iteration_timeout_seconds
        timer = asyncio.get_running_loop().call_later(limit, self._interrupt, Cut.TIME)
        watcher = asyncio.create_task(self._watch_requests(), name="ralph-requests")
        try:
            ended = await self._turn(session, prompt)
            if self._wants_handoff(ended):
                await self._hand_off(session)
        except BaseException:
            await session.close()
            raise
        finally:
            timer.cancel()
            watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watcher
        result = self._result(ended).model_copy(
            update={
                "session_id": self._session_id or ended.session_id,
                "handed_off": self._handed_off,
                "cost_usd": self._meter.costs.iteration,
                "tokens": self._meter.tokens,
                "context_tokens": self._meter.budget.current_usage,
                "seconds": time.monotonic() - started,
                "files": tuple(self._desk.files),
            }
        )
        return result, session

    async def _turn(self, session: AgentSession, prompt: str) -> TurnEnded:
        ended = TurnEnded()
        async for item in session.run_turn(prompt):
            match item:
                case TurnUsage():
                    await self._count(item)
                case TurnEnded():
                    ended = item
                case _:
                    if isinstance(item, ev.SessionStarted):
                        self._session_id = item.session_id
                    self._shop.emit(item)
        return ended

    async def _count(self, usage: TurnUsage) -> None:
        """Money is written down as it is spent, so that a kill -9 forgets none of it."""
        report = self._meter.count(usage)
        if report == self._reported:  # a turn's end repeats the last response's figures
            return
        self._reported = report
        self._shop.emit(report)
        costs = self._meter.costs
        await self._shop.ledger.record_costs(costs)
        level = self._meter.exceeded
        if level is not None:
            if self._cut is Cut.NONE:
                self._shop.emit(limit_event(level, costs, self._meter.limits))
            self._interrupt(Cut.COST)
        elif not self._desk.handing_off:
            self._mind_the_budget()

    def _mind_the_budget(self) -> None:
        budget = self._meter.budget
        match budget.mid_turn():
            case BudgetDecision.INTERRUPT:
                if self._desk.status is TaskStatus.IN_PROGRESS:
                    self._interrupt(Cut.CONTEXT)
            case BudgetDecision.WRAP_UP:
                self._desk.wrap_up = self._desk.wrap_up or wrap_up_note(budget.percent)
            case _:
                pass

    def _interrupt(self, cut: Cut) -> None:
        """Interrupt the turn for the first reason that came up."""
        if self._cut is not Cut.NONE or self._session is None:
            return
        self._cut = cut
        task = asyncio.create_task(self._session.interrupt(), name="ralph-interrupt")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch_requests(self) -> None:
        """Obey what the person asks of the running turn."""
        while True:
            state = self._shop.ledger.docs.state
            if state.stop is Halt.NOW:
                self._interrupt(Cut.STOP)
            elif state.pause is Halt.NOW:
                self._interrupt(Cut.PAUSE)
            elif self._taken_away():
                self._interrupt(Cut.TASK_TAKEN)
            await self._shop.ledger.wait_changed()

    def _taken_away(self) -> bool:
        """The person blocked, reset or removed the task; a settled task is not taken away."""
        return not self._desk.settled and self._desk.status is not TaskStatus.IN_PROGRESS

    def _prepare_next(self) -> None:
        """Connect the next session while the gate runs; there is one when other tasks wait."""
        others = any(t.status is TaskStatus.PENDING for t in self._shop.ledger.docs.plan.tasks)
        if others and self._shop.settings.agent.standby_session:
            self._shop.agent.prepare(self._spec)

    def _wants_handoff(self, ended: TurnEnded) -> bool:
        if self._desk.status is not TaskStatus.IN_PROGRESS:
            return False
        if self._cut is Cut.CONTEXT:
            return True
        if ended.failure is not None:
            return ended.failure.kind is FailureClass.CONTEXT_FULL
        full = self._meter.budget.at_turn_end() is BudgetDecision.HAND_OFF
        return self._cut is Cut.NONE and full

    async def _hand_off(self, session: AgentSession) -> None:
        percent = self._meter.budget.percent
        reason = f"context {percent:.0f} % full"
        self._shop.emit(ev.HandoffStarted(reason=reason, percent=percent))
        self._desk.handing_off = True
        ended = await self._turn(session, handoff_prompt(percent))
        self._handed_off = True
        path = await write_handoff(self._shop, self._desk, self._number, self._meter)
        summarised = self._desk.note is not None and ended.failure is None
        self._shop.emit(ev.HandoffFinished(path=path, summarised=summarised))

    def _result(self, ended: TurnEnded) -> IterationResult:
        """The outcome, from the facts on disk first and the turn's end second."""
        if self._desk.status is TaskStatus.COMPLETE:
            return _result(IterationOutcome.COMPLETE, "every check passed")
        if self._desk.status is TaskStatus.BLOCKED and self._cut is not Cut.TASK_TAKEN:
            blockers = self._desk.task.blockers if self._desk.task else ()
            return _result(IterationOutcome.BLOCKED, blockers[-1] if blockers else "blocked")
        if self._handed_off:
            percent = self._meter.budget.percent
            return _result(IterationOutcome.HANDED_OFF, f"context {percent:.0f} % full")
        if self._cut is not Cut.NONE:
            return _cut_result(self._cut)
        if ended.failure is not None:
            return IterationResult(
                outcome=IterationOutcome.FAILED,
                reason=ended.failure.message,
                failure=ended.failure,
                counts_as_retry=ended.failure.kind not in NOT_THE_TASKS_FAULT,
            )
        return self._without_claim()

    def _without_claim(self) -> IterationResult:
        gate = self._desk.gate_result
        reason = "the model stopped without a claim"
        if gate is not None:
            failed = ", ".join(r.command for r in gate.failures)
            reason = f"the claim was refused: {failed} failed"
        return _result(IterationOutcome.INCOMPLETE, reason, retry=not self._desk.retry_counted)


def _result(outcome: IterationOutcome, reason: str, *, retry: bool = False) -> IterationResult:
    return IterationResult(outcome=outcome, reason=reason, counts_as_retry=retry)


def _cut_result(cut: Cut) -> IterationResult:
    match cut:
        case Cut.TASK_TAKEN:
            return _result(IterationOutcome.SKIPPED, cut.value)
        case Cut.STOP | Cut.PAUSE:
            return _result(IterationOutcome.INTERRUPTED, cut.value)
        case _:
            return _result(IterationOutcome.FAILED, cut.value, retry=True)
