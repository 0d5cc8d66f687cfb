"""Run the turns of one agent session: count money and context, obey the person's requests, bound the time."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Self

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import CliStartError, StoreError
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.run.context_budget import BudgetDecision
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import (
    AgentItem,
    AgentSession,
    SessionSpec,
    Supervisor,
    TurnEnded,
    TurnUsage,
)
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.limits.backoff import wait_until
from ralph_tui.engine.limits.cost_limits import cost_limit_reached
from ralph_tui.engine.prompts.prompts import wrap_up_note
from ralph_tui.engine.session.iteration_guidance import with_guidance_taken
from ralph_tui.engine.session.iteration_result import IterationResult
from ralph_tui.engine.session.supervisor import SessionSupervisor
from ralph_tui.store.last_prompt import write_last_prompt

STARTS = 5
"""How often the CLI may die at its start before the run ends."""


class NeverOpened:
    """A session that nobody waited for: its turn ends before it begins."""

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        """See `AgentSession.run_turn`."""
        del prompt
        yield TurnEnded(interrupted=True)

    async def steer(self, text: str) -> None:
        """See `AgentSession.steer`."""

    async def interrupt(self) -> None:
        """See `AgentSession.interrupt`."""

    async def close(self) -> None:
        """See `AgentSession.close`."""


async def open_again(run: RunContext, spec: SessionSpec, supervisor: Supervisor) -> AgentSession:
    """Open a session; a CLI that dies while it starts is started again, after a longer pause each time.

    Raises:
        CliStartError: It keeps dying.
        SetupError: No session could be started, and another start would not help.
    """
    failed = 0
    while True:
        try:
            return await run.agent.open(spec, supervisor)
        except CliStartError as error:
            failed += 1
            if failed == STARTS:
                message = f"The Claude Code CLI died at each of {STARTS} starts. {error.message}"
                raise CliStartError(message, error.hint) from error
            seconds = min(run.settings.limits.backoff_seconds, 2.0 ** (failed - 1))
            until = run.clock() + timedelta(seconds=seconds)
            said = f"{error.message} Starting it again ({failed + 1} of {STARTS})"
            await wait_until(run, until, said, ends=lambda stop: stop is StopMode.NOW)


async def open_unless(
    opening: "asyncio.Task[AgentSession]", asked: Awaitable[object]
) -> AgentSession:
    """Return the session, or `NeverOpened` when `asked` was done first; a session nobody gets is closed.

    Raises:
        SetupError: No session could be started.
    """
    asking = asyncio.ensure_future(asked)
    taken = False
    try:
        await asyncio.wait([opening, asking], return_when=asyncio.FIRST_COMPLETED)
        taken = opening.done()
        return opening.result() if taken else NeverOpened()
    finally:
        asking.cancel()
        opening.cancel()
        await asyncio.wait([opening, asking])
        if not (taken or opening.cancelled() or opening.exception()):
            await opening.result().close()


STOP_SECONDS = 1.0
"""How long an interrupted turn may take to end, and to say what it cost, when the person stops at once; then its CLI is ended."""


class InterruptReason(StrEnum):
    """Why a running turn was interrupted."""

    NONE = ""
    STOP = "stopped at once"
    PAUSE = "paused at once"
    TASK_TAKEN = "the person took the task away"
    COST = "a cost limit was reached"
    CONTEXT = "the context was full"
    TIME = "the iteration took too long"
    UNANSWERED = "a question waits for the person"


def interrupt_told(interrupted: InterruptReason, meter: UsageMeter, seconds: float) -> str:
    """Say why a turn was interrupted, with the limit that it reached, as a clause."""
    match interrupted:
        case InterruptReason.COST:
            spent = cost_limit_reached(meter.costs, meter.limits)
            return spent.told if spent is not None else interrupted.value
        case InterruptReason.TIME:
            return f"the iteration took longer than {duration(seconds)}"
        case _:
            return interrupted.value


class Conversation:
    """Turns of one session; use it as an async context manager, the caller closes the session."""

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
            run: The parts of the run.
            supervisor: Answers the agent's hooks and tools.
            spec: What the session is made to.
            meter: Counts what the session uses.
            seconds: How long the conversation may take, the person's time to answer left out.
        """
        self.interrupted = InterruptReason.NONE
        self.session_id = ""
        self._began = time.monotonic()
        self._run = run
        self._supervisor = supervisor
        self._spec = spec
        self._meter = meter
        self._seconds = seconds
        self._session: AgentSession | None = None
        self._helpers: list[asyncio.Task[None]] = []
        self._interrupts: set[asyncio.Task[None]] = set()
        self._reported: ev.UsageReported | None = None
        self._talking = False
        self._kept = False
        self._steered: set[str] = set()
        self._hurried = False

    @property
    def session(self) -> AgentSession:
        """The open session."""
        if self._session is None:
            msg = "the conversation was not opened"
            raise RuntimeError(msg)
        return self._session

    async def __aenter__(self) -> Self:
        opening = asyncio.create_task(open_again(self._run, self._spec, self._supervisor))
        self._session = await open_unless(opening, self._asked())
        if isinstance(self._session, NeverOpened):
            self.interrupted = self._wish
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
            raise broken  # who watches the person's requests must not end in silence

    async def say(self, prompt: str) -> TurnEnded:
        """Run one turn: emit events, count usage; returns how it ended."""
        ended = TurnEnded()
        await self._keep(prompt)
        self._talking = True
        async for item in self.session.run_turn(prompt):
            match item:
                case TurnUsage():
                    await self._count(item)
                case TurnEnded():
                    ended = item
                case _:
                    self._run.emit(item)
                    self._mind(item)
        self._talking = False
        self.session_id = self.session_id or ended.session_id
        return ended

    def measured(self, result: IterationResult) -> IterationResult:
        """Return the result with what the session has used and how long it took."""
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

    def _mind(self, item: ev.Event) -> None:
        if isinstance(item, ev.SessionStarted):
            self.session_id = item.session_id
        elif isinstance(item, ev.AllowanceReported):
            share = self._run.settings.limits.stop_at_allowance_percent
            self._supervisor.ending = item.allowance.used_up(share) or self._supervisor.ending
        elif isinstance(item, ev.ToolFinished) and self._supervisor.unanswered:
            self.interrupt(InterruptReason.UNANSWERED)

    async def _keep(self, prompt: str) -> None:
        """Keep the first prompt of a session, for a person to read exactly what the model was given."""
        if not self._kept:
            self._kept = True
            layout = self._run.project.layout
            await asyncio.to_thread(write_last_prompt, layout, self._spec.system_prompt, prompt)

    async def _count(self, usage: TurnUsage) -> None:
        """Write money and tokens down as they are spent, so that a kill -9 forgets none of it.

        Raises:
            StoreError: It, or the journal, cannot be written; then nothing more may be spent.
        """
        unwritten = await self._run.unwritten()
        if unwritten is not None:
            raise unwritten
        self._meter.limits = self._run.settings.safety.cost_limits  # a person may change them
        now = self._run.clock()
        requests = usage.session_requests - self._meter.requests
        tokens = usage.session_tokens - self._meter.tokens
        counted = self._run.docs.requests.counting(requests, now).in_hour(now)
        report = self._meter.count(usage).model_copy(update={"requests": counted})
        if report == self._reported and not tokens:  # a turn's end repeats the last response's
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
            self._mind_the_budget()

    def _mind_the_budget(self) -> None:
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
        """Interrupt the turn for the first reason that came up; stopping at once goes before all others."""
        if self.interrupted is interrupted or (
            self.interrupted is not InterruptReason.NONE and interrupted is not InterruptReason.STOP
        ):
            return
        self.interrupted = interrupted
        task = asyncio.create_task(self.session.interrupt(), name="ralph-interrupt")
        self._interrupts.add(task)
        task.add_done_callback(self._interrupts.discard)

    @property
    def _wish(self) -> InterruptReason:
        """What the person wants instead of the running turn."""
        state = self._run.docs.state
        if state.stop is StopMode.NOW:
            return InterruptReason.STOP
        if state.pause is StopMode.NOW:
            return InterruptReason.PAUSE
        return InterruptReason.TASK_TAKEN if self._supervisor.taken_away else InterruptReason.NONE

    async def _asked(self) -> None:
        while self._wish is InterruptReason.NONE:
            await self._run.project_state.wait_changed()

    async def _watch_requests(self) -> None:
        """Obey what the person asks of the running turn."""
        while True:
            if (wish := self._wish) is not InterruptReason.NONE:
                self.interrupt(wish)
            if wish is InterruptReason.STOP and not self._hurried:
                self._hurried = True
                self._helpers.append(asyncio.create_task(self._hurry(), name="ralph-hurry"))
            self._supervisor.mind_edits()
            await self._steer()
            await self._run.project_state.wait_changed()

    async def _hurry(self) -> None:
        """End the session when its CLI ignores an interrupt: stopping at once does not wait for it."""
        await asyncio.sleep(STOP_SECONDS)
        await self.session.close()

    async def _steer(self) -> None:
        """Say guidance marked "now" to the running turn, once."""
        waiting = [i for i in self._run.docs.pending if i.now and i.id not in self._steered]
        if not waiting or not self._talking or self.interrupted is not InterruptReason.NONE:
            return
        ids = tuple(injection.id for injection in waiting)
        self._steered.update(ids)
        for injection in waiting:
            await self.session.steer(f"Guidance from the person: {injection.guidance}")

        try:
            docs = await self._run.project_state.transact(partial(with_guidance_taken, ids=ids))
        except StoreError as error:  # it was heard; only the next iteration will hear it again
            self._run.emit(ev.Notice(level="error", text=str(error)))
            return
        iteration = docs.state.iteration_count
        self._run.emit(ev.InjectionConsumed(ids=ids, iteration=iteration))

    async def _watch_time(self) -> None:
        """Interrupt a session that takes too long; a person may take as long as they like."""
        left = self._seconds
        while left > 0:
            step = min(left, 1.0)
            await asyncio.sleep(step)
            if not self._supervisor.waiting_for_person:
                left -= step
        self.interrupt(InterruptReason.TIME)
