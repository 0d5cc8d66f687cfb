"""Check the limits of a run before each iteration of every phase."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import Event
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.outcomes import FailureClass, LoopStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase, RalphState, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, should_remake
from ralph_tui.domain.run.usage_quota import Allowance
from ralph_tui.engine.context import RunContext, cost_limit_reached
from ralph_tui.engine.core.outcome import (
    End,
    failed_end,
    fatal_end,
    interrupted_end,
    nothing_ready,
    stopped_end,
)
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.decisions.ask_person import decide, decide_in_their_place
from ralph_tui.engine.limits.waits import (
    RETRIED,
    Backoff,
    Countdown,
    RateLimiter,
    forget_retry,
)
from ralph_tui.engine.safety.repository_guard import RepositoryGuard


class RunLimits:
    """Counts the iterations of a run and compares them with its limits."""

    def __init__(self, run: RunContext, repository_guard: RepositoryGuard) -> None:
        self.done = 0
        self._run = run
        self.backoff = Backoff(run)
        self._rate_limiter = RateLimiter(run)
        self._allowances: dict[str, Allowance] = {}
        """The windows of the quota as last reported."""
        self.repository_guard = repository_guard
        self._paused = False
        self._rejected = False
        """Whether the API rejected the last session's first request; a second in a row is the settings' fault."""

    def note(self, event: Event) -> None:
        if isinstance(event, ev.AllowanceReported):
            self._allowances[event.allowance.window] = event.allowance

    async def reason_to_stop(self) -> End | None:
        """Wait while paused, then return the end by a requested stop or a limit, or None."""
        await self.wait_while_paused()
        if self._state.stop is not StopMode.NONE:
            return interrupted_end(self._state)
        journal_error = await self._run.journal_error()
        if journal_error is not None:  # no money is spent on work that cannot be recorded
            return failed_end(journal_error)
        changed = await self.repository_guard.check()
        if changed is not None:
            return changed
        spent = cost_limit_reached(self.costs(), self._run.settings.safety.cost_limits)
        if spent is not None and spent.ends_run:
            if self._run.docs.breaker.state is not BreakerState.OPEN:
                await change_breaker(
                    self._run, lambda breaker: breaker.opened(spent.reason), spent.reason
                )
            return spent.end
        if self._run.docs.breaker.state is BreakerState.OPEN:
            end = await recover_open_breaker(self._run, self._limit_reached())
            # Anything may have changed during the wait, so check everything again.
            return end or await self.reason_to_stop()
        return self._limit_reached() or await self._check_quota_and_rate()

    async def reason_to_refuse_session(self) -> End | None:
        """Return the end that forbids a session outside the iterations, such as a step's, or None."""
        journal_error = await self._run.journal_error()
        if journal_error is not None:
            return failed_end(journal_error)
        spent = cost_limit_reached(self.costs(), self._run.settings.safety.cost_limits)
        return (
            spent.end
            if spent is not None and spent.ends_run
            else await self._check_quota_and_rate()
        )

    async def _check_quota_and_rate(self) -> End | None:
        used_up = self._end_by_quota()
        if used_up is not None:
            return used_up
        await self._rate_limiter.hold()
        return interrupted_end(self._state) if self._state.stop is not StopMode.NONE else None

    def _end_by_quota(self) -> End | None:
        """Return an end when the person's share of a window is used up and the window has not reset."""
        share, now = self._run.settings.limits.stop_at_allowance_percent, self._run.clock()
        current = (a for a in self._allowances.values() if a.resets_at is None or a.resets_at > now)
        over = [allowance for allowance in current if allowance.used_up(share)]
        if not over:
            return None
        worst = max(over, key=lambda allowance: allowance.percent)
        resets = (
            f" The quota resets at {worst.resets_at:%Y-%m-%d %H:%M} UTC." if worst.resets_at else ""
        )
        return End(
            status=LoopStatus.USAGE_LIMIT,
            reason=worst.used_up(share),
            hint=f"Raise limits.stop_at_allowance_percent to continue.{resets}",
            exit_code=ExitCode.USAGE_LIMIT,
        )

    @property
    def _state(self) -> RalphState:
        return self._run.docs.state

    async def after(self, failure: Failure | None) -> End | None:
        """Wait if waiting helps; return an end if another iteration cannot get past the failure."""
        rejected = (
            failure is not None
            and failure.kind is FailureClass.BAD_REQUEST
            and failure.status == HTTPStatus.BAD_REQUEST
        )
        first, self._rejected = rejected and not self._rejected, rejected
        if await self.backoff.after(failure) or first:
            self.done -= 1
            await self._run.project_state.transact(
                lambda docs: docs.with_state(iteration_count=max(0, docs.state.iteration_count - 1))
            )
            return None
        return self.fatal(failure)

    def fatal(self, failure: Failure | None) -> End | None:
        """Return the end by a failure that was not waited out, or None if another iteration may run."""
        stopped_meanwhile = self._state.stop is not StopMode.NONE
        if failure and stopped_meanwhile:
            return interrupted_end(self._state)
        return fatal_end(failure, outage=self.backoff.outage_duration)

    def costs(self) -> CostMeter:
        docs = self._run.docs
        return CostMeter(session=docs.state.session_cost_usd, total=docs.project_cost)

    def _limit_reached(self) -> End | None:
        most = self._run.settings.phases.building.max_iterations
        if self.done < most:
            return None
        reason = f"the run reached its maximum of {plural(most, 'iteration')}"
        return stopped_end(reason, "Run again, or raise --max-iterations.")

    async def wait_while_paused(self) -> None:
        project_state = self._run.project_state
        while (
            state := project_state.docs.state
        ).pause is not StopMode.NONE and state.stop is StopMode.NONE:
            if not self._paused:
                self._paused = True
                self._run.emit(ev.LoopPaused())
            await project_state.wait_changed()
        self._paused = False


BY_CLOCK = "cool-down"


async def change_breaker(
    run: RunContext, change: Callable[[CircuitBreaker], CircuitBreaker], reason: str
) -> None:
    await run.project_state.transact(
        lambda docs: docs.replacing(breaker=change(docs.breaker)), reason
    )


async def recover_open_breaker(run: RunContext, limit: End | None) -> End | None:
    """Return the end of the run, or None when one iteration may run with the breaker half-open.

    The person is not asked where no task could be tried.

    Args:
        limit: The end by another limit, if one is reached; then the person is not asked.
    """
    docs = run.docs
    signal = docs.breaker.tripped()
    remakes = signal is not None and signal.name == "stagnation" and should_remake(docs.plan)
    end = open_breaker_end(docs.breaker).model_copy(update={"remakes_plan": remakes})
    reason = end.reason
    if remakes and run.request.only is None:
        return end
    plan = docs.plan
    waits = bool(plan.tasks) and not plan.ready() and plan.get_current_task() is None
    if docs.state.current_phase is Phase.BUILDING and waits:
        stuck = nothing_ready(docs.plan)
        return end.model_copy(update={"reason": f"{reason}; {stuck.reason}", "hint": stuck.hint})
    if limit is not None or not run.request.interactive:
        return end
    minutes = run.settings.circuit_breaker.cooldown_minutes
    until = cooldown_end(docs.breaker, minutes, run.clock())
    if until != docs.breaker.half_open_at:
        await change_breaker(run, lambda breaker: breaker.cooling(until), reason)
    return await _ask_to_try(run, reason, end, until)


async def _ask_to_try(run: RunContext, reason: str, no: End, until: datetime | None) -> End | None:
    notice = (
        f" Without an answer, ralph runs one automatically at {until:%Y-%m-%d %H:%M:%S} UTC."
        if until
        else ""
    )
    summary = (
        f"{reason[:1].upper()}{reason[1:]}. Try one more iteration? The loop continues if it completes "
        "a task. Otherwise it asks again. No ends this run, and nothing is lost."
        f"{notice}"
    )
    wait = partial(_cool_down, run, Countdown(until, run.clock)) if until else None
    decided = await decide(run, ApprovalKind.RECOVERY, summary, wait=wait)
    if isinstance(decided, End) or not decided.approved:
        await change_breaker(run, lambda breaker: breaker.cooling(None), "the run ends")
        return decided if isinstance(decided, End) else no
    await change_breaker(
        run,
        lambda breaker: breaker.half_open() if breaker.state is BreakerState.OPEN else breaker,
        decided.reason or "one more iteration was approved",
    )
    return None


def cooldown_end(breaker: CircuitBreaker, minutes: float, now: datetime) -> datetime | None:
    """Return when an open breaker retries automatically, or None for never.

    A time already set is kept, unless a clock that was set back would make it later than a full cool-down.
    """
    if not minutes or breaker.is_spent:
        return None
    latest = now + timedelta(minutes=minutes)
    return min(breaker.half_open_at or latest, latest)


async def _cool_down(run: RunContext, countdown: Countdown) -> None:
    """Wait for a change; after the cool-down, approve in the person's place unless the loop is paused."""
    left, state = countdown.left, run.docs.state
    if state.retry_now:
        await run.project_state.transact(forget_retry)
        await _approve(run, RETRIED, "")
    elif left <= 0 and state.pause is StopMode.NONE:
        await _approve(run, "the cool-down is over", BY_CLOCK)
    elif left <= 0:
        await run.project_state.wait_changed()
    else:
        await run.project_state.wait_changed_within(left)


async def _approve(run: RunContext, reason: str, by: str) -> None:
    await decide_in_their_place(run, ApprovalKind.RECOVERY, approved=True, reason=reason, by=by)


def open_breaker_end(breaker: CircuitBreaker) -> End:
    signal = breaker.tripped()
    cause = breaker.opened_by or (signal.cause if signal else "an earlier run opened it")
    advice = _ADVICE.get(signal.name, _FIX) if signal else _FIX
    return stopped_end(
        f"the circuit breaker opened: {cause}",
        f"{advice} Then run again. A new run closes the breaker.",
    )


_FIX = "Fix the cause (see `ralph status`)."
_ADVICE = {
    "stagnation": "Split the tasks (`ralph edit`) or give guidance (`ralph inject`).",
    "denials": "Run the command yourself, or change the task so that it does not need the command (`ralph edit`).",
    "output collapse": "Review the last iterations (`ralph history`), or use another model (models.primary).",
    "tests only": "Change the task so that it says what to build (`ralph edit`).",
    "cost": "Raise safety.cost_limits.total.",
}
