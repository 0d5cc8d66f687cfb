"""Run the turns of one agent session: count usage, follow the person's requests and limit the time."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Self

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import CliStartError, StoreError
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome
from ralph_tui.domain.project_state import RalphState, StopMode
from ralph_tui.domain.run.context_budget import BudgetDecision
from ralph_tui.engine.context import RunContext, UsageMeter, cost_limit_reached, new_session
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import (
    AgentItem,
    AgentSession,
    RequestStarted,
    SessionSpec,
    Supervisor,
    TurnEnded,
    TurnUsage,
)
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.limits.waits import wait_until
from ralph_tui.engine.prompts.prompts import guidance_section, wrap_up_note
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    record_iteration,
    with_guidance_taken,
)
from ralph_tui.engine.session.supervisor import SessionSupervisor, SessionWork, WorkSupervisor

MAX_STARTS = 5


class UnopenedSession:
    """Replaces a session that was interrupted before it opened; its turn ends immediately."""

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        del prompt
        yield TurnEnded(interrupted=True)

    async def steer(self, text: str) -> None: ...

    async def interrupt(self) -> None: ...

    async def close(self) -> None: ...


async def open_with_retries(
    run: RunContext, spec: SessionSpec, supervisor: Supervisor
) -> AgentSession:
    failed = 0
    while True:
        try:
            return await run.agent.open(spec, supervisor)
        except CliStartError as error:
            failed += 1
            if failed == MAX_STARTS:
                message = f"The Claude Code CLI failed to start {MAX_STARTS} times. {error.message}"
                raise CliStartError(message, error.hint) from error
            seconds = min(run.settings.limits.backoff_seconds, 2.0 ** (failed - 1))
            until = run.clock() + timedelta(seconds=seconds)
            reason = f"{error.message} Starting again ({failed + 1} of {MAX_STARTS})"
            await wait_until(run, until, reason, ends=lambda stop: stop is StopMode.NOW)


STOP_GRACE_SECONDS = 1.0
"""How long an interrupted turn may take to end and report its cost after an immediate stop, before its CLI is closed."""


HANDOFF_REQUESTS = 4
"""How many requests a session may use to write its hand-off, before the turn is cut."""


class InterruptReason(StrEnum):
    """Why a running turn was interrupted."""

    NONE = ""
    STOP = "stopped immediately"
    PAUSE = "paused immediately"
    TASK_WITHDRAWN = "the task was withdrawn"
    COST = "a cost limit was reached"
    CONTEXT = "the context was full"
    TIME = "the iteration took too long"
    UNANSWERED = "a question is waiting for an answer"


def describe_interrupt(interrupted: InterruptReason, meter: UsageMeter, seconds: float) -> str:
    """Return why a turn was interrupted, with the limit that it reached, as a clause."""
    match interrupted:
        case InterruptReason.COST:
            spent = cost_limit_reached(meter.costs, meter.limits)
            return spent.reason if spent is not None else interrupted.value
        case InterruptReason.TIME:
            return f"the iteration took longer than {duration(seconds)}"
        case _:
            return interrupted.value


class Conversation:
    """Runs the turns of one session.

    Use it as an async context manager. The caller closes the session after a normal exit.
    """

    def __init__(
        self,
        run: RunContext,
        supervisor: SessionSupervisor,
        spec: SessionSpec,
        meter: UsageMeter,
        *,
        seconds: float,
    ) -> None:
        """Prepare a conversation; entering the context opens its session.

        Args:
            seconds: How long the conversation may take, without the time the person needs to answer.
        """
        self.interrupted = InterruptReason.NONE
        self.session_id = ""
        self.session: AgentSession = UnopenedSession()
        self._began = time.monotonic()
        self._run = run
        self._supervisor = supervisor
        self._spec = spec
        self._meter = meter
        self._seconds = seconds
        self._helpers: list[asyncio.Task[None]] = []
        self._interrupts: set[asyncio.Task[None]] = set()
        self._reported: ev.UsageReported | None = None
        self._turn_running = False
        self._steered: set[str] = set()
        self._before_handoff = 0
        self._closing = False

    async def __aenter__(self) -> Self:
        opening = asyncio.create_task(open_with_retries(self._run, self._spec, self._supervisor))
        opened: AgentSession | None = None
        try:
            opened = await unless(self._run.project_state, opening, self._is_asked_to_interrupt)
        finally:
            late = opening.done() and not (opening.cancelled() or opening.exception())
            if opened is None and late:
                await opening.result().close()
        if opened is None:
            self.interrupted = self._requested_interrupt
        else:
            self.session = opened
        self._helpers = [
            asyncio.create_task(self._watch_requests(), name="ralph-requests"),
            asyncio.create_task(self._watch_time(), name="ralph-time"),
        ]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for helper in self._helpers:
            helper.cancel()
        ended = await asyncio.gather(*self._helpers, return_exceptions=True)
        broken = next((error for error in ended if isinstance(error, Exception)), None)
        if kind is not None or broken is not None:
            await self.session.close()
        if kind is None and broken is not None:
            raise broken  # a task that watches the person's requests must not fail silently

    async def run_turn(self, prompt: str) -> TurnEnded:
        ended = TurnEnded()
        self._turn_running = True
        async for item in self.session.run_turn(prompt):
            match item:
                case RequestStarted():
                    await self._count_request()
                case TurnUsage():
                    await self._count(item)
                case TurnEnded():
                    ended = item
                case _:
                    self._run.emit(item)
                    self._react_to(item)
        self._turn_running = False
        self.session_id = self.session_id or ended.session_id
        failure = ended.failure
        if (
            failure is None
            or failure.kind is not FailureClass.BAD_REQUEST
            or not self._meter.tokens
        ):
            return ended
        hint = "The session was thrown away. Continuing in a fresh one."
        update = {"kind": FailureClass.SPOILED_SESSION, "hint": hint}
        return ended.model_copy(update={"failure": failure.model_copy(update=update)})

    def with_usage(self, result: IterationResult) -> IterationResult:
        return result.model_copy(
            update={
                "session_id": self.session_id,
                "cost_usd": self._meter.costs.iteration,
                "tokens": self._meter.tokens,
                "context_tokens": self._meter.budget.current_usage,
                "output_tokens": self._meter.output_tokens,
                "seconds": time.monotonic() - self._began,
            }
        )

    def _react_to(self, item: ev.Event) -> None:
        if isinstance(item, ev.SessionStarted):
            self.session_id = item.session_id
        elif isinstance(item, ev.AllowanceReported):
            share = self._run.settings.limits.stop_at_allowance_percent
            self._supervisor.ending = item.allowance.used_up(share) or self._supervisor.ending
        elif isinstance(item, ev.ToolFinished) and self._supervisor.unanswered:
            self.interrupt(InterruptReason.UNANSWERED)

    async def _count_request(self) -> None:
        """Count a request before its usage is known, where the next one may have to wait for it."""
        if self._run.settings.limits.rate_limit_per_hour:
            self._meter.requests += 1
            now = self._run.clock()
            await self._run.project_state.transact(
                lambda docs: docs.with_state(requests=docs.state.requests.counting(1, now))
            )

    async def _count(self, usage: TurnUsage) -> None:
        """Write costs and tokens to disk as they are spent, so that a `kill -9` loses none."""
        journal_error = await self._run.journal_error()
        if journal_error is not None:
            raise journal_error
        self._meter.limits = self._run.settings.safety.cost_limits  # a person may change them
        now = self._run.clock()
        requests = usage.session_requests - self._meter.requests
        tokens = usage.session_tokens - self._meter.tokens
        counted = self._run.docs.requests.counting(requests, now).in_hour(now)
        report = self._meter.count(usage).model_copy(update={"requests": counted})
        if report == self._reported and not tokens:  # the end of a turn repeats the last report
            return
        self._reported = report
        self._run.emit(report)
        costs, context = self._meter.costs, self._meter.budget
        await self._run.project_state.record_usage(
            costs, context, tokens=tokens, requests=requests, now=now
        )
        spent = cost_limit_reached(costs, self._meter.limits)
        if spent is not None:
            if self.interrupted is InterruptReason.NONE:
                self._run.emit(spent.event)
            self.interrupt(InterruptReason.COST)
        elif not self._supervisor.handing_off:
            self._check_context_budget()
            self._before_handoff = self._meter.requests
        elif self._meter.requests - self._before_handoff > HANDOFF_REQUESTS:
            self._cut()

    def _check_context_budget(self) -> None:
        budget = self._meter.budget
        match budget.mid_turn():
            case BudgetDecision.INTERRUPT:
                if self._supervisor.working:
                    self.interrupt(InterruptReason.CONTEXT)
            case BudgetDecision.WRAP_UP:
                self._supervisor.wrap_up = self._supervisor.wrap_up or wrap_up_note(budget.percent)
            case _:
                pass

    def interrupt(self, interrupted: InterruptReason) -> None:
        """Interrupt the turn and keep the first reason; only an immediate stop replaces an earlier one."""
        if self.interrupted is interrupted or (
            self.interrupted is not InterruptReason.NONE and interrupted is not InterruptReason.STOP
        ):
            return
        self.interrupted = interrupted
        self._cut()

    def _cut(self) -> None:
        task = asyncio.create_task(self.session.interrupt(), name="ralph-interrupt")
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)

    @property
    def _requested_interrupt(self) -> InterruptReason:
        state = self._run.docs.state
        if state.stop is StopMode.NOW:
            return InterruptReason.STOP
        if state.pause is StopMode.NOW:
            return InterruptReason.PAUSE
        return (
            InterruptReason.TASK_WITHDRAWN
            if self._supervisor.withdrawn_reason
            else InterruptReason.NONE
        )

    def _is_asked_to_interrupt(self, _: RalphState) -> bool:
        return self._requested_interrupt is not InterruptReason.NONE

    async def _watch_requests(self) -> None:
        while True:
            if (reason := self._requested_interrupt) is not InterruptReason.NONE:
                self.interrupt(reason)
            if reason is InterruptReason.STOP and not self._closing:
                self._closing = True
                self._helpers.append(
                    asyncio.create_task(self._close_after_grace_period(), name="ralph-hurry")
                )
            self._supervisor.report_edits()
            await self._steer()
            await self._run.project_state.wait_changed()

    async def _close_after_grace_period(self) -> None:
        """Close the session after a moment, so that a CLI that ignores the interrupt cannot delay a stop."""
        await asyncio.sleep(STOP_GRACE_SECONDS)
        await self.session.close()

    async def _steer(self) -> None:
        waiting = [i for i in self._run.docs.pending if i.now and i.id not in self._steered]
        if not waiting or not self._turn_running or self.interrupted is not InterruptReason.NONE:
            return
        ids = tuple(injection.id for injection in waiting)
        self._steered.update(ids)
        for injection in waiting:
            await self.session.steer(f"Guidance from the person: {injection.guidance}")

        try:
            docs = await self._run.project_state.transact(partial(with_guidance_taken, ids=ids))
        except StoreError as error:  # it was sent; the next iteration will only get it again
            self._run.emit(ev.Notice(level="error", text=str(error)))
            return
        iteration = docs.state.iteration_count
        self._run.emit(ev.InjectionConsumed(ids=ids, iteration=iteration))

    async def _watch_time(self) -> None:
        left = self._seconds
        while left > 0:
            step = min(left, 1.0)
            await asyncio.sleep(step)
            if not self._supervisor.waiting_for_person:
                left -= step
        self.interrupt(InterruptReason.TIME)


async def run_session(run: RunContext, work: SessionWork) -> End | None:
    supervisor, phase = WorkSupervisor(run, work), run.phase
    docs, guidance = await begin_iteration(run)
    number = docs.state.iteration_count
    told = guidance_section([injection.guidance for injection in guidance or ()])
    prompt = work.prompt + told
    meter, spec = new_session(run)
    title = phase.value.capitalize()
    started = ev.IterationStarted(iteration=number, task_id=phase.value, title=title, why=work.why)
    await run.announce(started, spec.system_prompt, prompt)
    seconds = run.settings.phases.building.iteration_timeout_seconds
    await run.gate.begin("", run.docs.plan.tasks)
    async with Conversation(run, supervisor, spec, meter, seconds=seconds) as conversation:
        ended = await conversation.run_turn(prompt)
    lacking = await work.missing()
    sent_back = work.findings() if lacking is None else 0
    result = conversation.with_usage(
        _result(ended, conversation.interrupted, lacking, supervisor.ending, sent_back)
    )
    at_limit = conversation.interrupted in (InterruptReason.COST, InterruptReason.TIME)
    if at_limit and result.outcome is IterationOutcome.FAILED:
        result = result.model_copy(
            update={"reason": describe_interrupt(conversation.interrupted, meter, seconds)}
        )
    await conversation.session.close()
    await run.gate.end()
    run.limits.done += 1
    await record_iteration(run, number, phase.value, result, phase=phase)
    return await run.limits.after(result.failure)


def _result(
    ended: TurnEnded, interrupted: InterruptReason, lacking: str | None, ending: str, sent_back: int
) -> IterationResult:
    if interrupted in (InterruptReason.STOP, InterruptReason.PAUSE, InterruptReason.UNANSWERED):
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=interrupted.value)
    if sent_back:
        reason = plural(sent_back, "finding")
        return IterationResult(outcome=IterationOutcome.SENT_BACK, reason=reason)
    if lacking is None:
        return IterationResult(outcome=IterationOutcome.COMPLETE, reason="the criteria are met")
    if interrupted is not InterruptReason.NONE:
        return IterationResult(outcome=IterationOutcome.FAILED, reason=interrupted.value)
    if ended.failure is not None:
        reason, failure = ended.failure.message, ended.failure
        return IterationResult(outcome=IterationOutcome.FAILED, reason=reason, failure=failure)
    if ending:
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=ending)
    return IterationResult(outcome=IterationOutcome.INCOMPLETE, reason=lacking)
