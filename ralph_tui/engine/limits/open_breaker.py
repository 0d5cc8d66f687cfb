"""Handle an open breaker: replan, end the run, or try one more iteration.

The person decides whether to try. When the cool-down ends without an answer, the loop approves the attempt
automatically, so that an unattended run does not stop for the night.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from ralph_tui.domain.project_state import ApprovalKind, Phase, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, RecoveryAction, recovery_for
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, nothing_ready, stopped_end
from ralph_tui.engine.decisions.ask_person import decide, decide_in_their_place
from ralph_tui.engine.limits.waits import RETRIED, forget_retry

BY_CLOCK = "cool-down"

CLOCK_TOLERANCE = timedelta(seconds=5)
"""A larger difference between the clocks means that the wall clock was set."""


def steady_seconds() -> float:
    """Return the seconds of a monotonic clock that also runs while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


async def change_breaker(
    run: RunContext, change: Callable[[CircuitBreaker], CircuitBreaker], reason: str
) -> None:
    await run.project_state.transact(
        lambda docs: docs.replacing(breaker=change(docs.breaker)), reason
    )


async def recover_open_breaker(
    run: RunContext,
    request: RunRequest,
    limit: End | None,
    *,
    steady: Callable[[], float] = steady_seconds,
) -> End | None:
    """Return the end of the run, or None when one iteration may run with the breaker half-open.

    The person is not asked where no task could be tried.

    Args:
        limit: The end by another limit, if one is reached; then the person is not asked.
    """
    docs = run.docs
    action = recovery_for(docs.plan, docs.breaker)
    end = open_breaker_end(docs.breaker).model_copy(update={"recovery": action})
    reason = end.reason
    if action is RecoveryAction.REGENERATE_PLAN and request.only is None:
        return end
    plan = docs.plan
    waits = bool(plan.tasks) and not plan.ready() and plan.get_current_task() is None
    if docs.state.current_phase is Phase.BUILDING and waits:
        stuck = nothing_ready(docs.plan)
        return end.model_copy(update={"reason": f"{reason}; {stuck.reason}", "hint": stuck.hint})
    if limit is not None or not request.interactive:
        return end
    until = await _start_cooldown(run, reason)
    cooling = None if until is None else CoolDown(run, until, steady)
    return await _ask_to_try(run, request, reason, end, cooling)


async def _ask_to_try(
    run: RunContext, request: RunRequest, reason: str, no: End, cooling: "CoolDown | None"
) -> End | None:
    summary = (
        f"{reason[:1].upper()}{reason[1:]}. Try one more iteration? The loop continues if it completes "
        "a task. Otherwise it asks again. No ends this run, and nothing is lost."
        f"{cooling.notice if cooling else ''}"
    )
    wait = cooling.wait if cooling else None
    decided = await decide(run, request, ApprovalKind.RECOVERY, summary, wait=wait)
    if isinstance(decided, End) or not decided.approved:
        await change_breaker(run, lambda breaker: breaker.cooling(None), "the run ends")
        return decided if isinstance(decided, End) else no
    await change_breaker(
        run,
        lambda breaker: breaker.half_open() if breaker.state is BreakerState.OPEN else breaker,
        decided.reason or "one more iteration was approved",
    )
    return None


async def _start_cooldown(run: RunContext, reason: str) -> datetime | None:
    breaker = run.docs.breaker
    until = cooldown_end(breaker, run.settings.circuit_breaker.cooldown_minutes, run.clock())
    if until != breaker.half_open_at:
        await change_breaker(run, lambda now: now.cooling(until), reason)
    return until


def cooldown_end(breaker: CircuitBreaker, minutes: float, now: datetime) -> datetime | None:
    """Return when an open breaker retries automatically, or None for never.

    A time already set is kept, unless a clock that was set back would make it later than a full cool-down.
    """
    if not minutes or breaker.is_spent:
        return None
    latest = now + timedelta(minutes=minutes)
    return min(breaker.half_open_at or latest, latest)


class CoolDown:
    """Waits for the person's decision during the cool-down, then approves in their place.

    The monotonic clock measures the cool-down. The person sees a wall-clock time, which is corrected when
    that clock is set.
    """

    def __init__(self, run: RunContext, until: datetime, steady: Callable[[], float]) -> None:
        self._run = run
        self._until = until
        self._steady = steady
        self._ends = steady() + (until - run.clock()).total_seconds()

    @property
    def notice(self) -> str:
        return f" Without an answer, ralph runs one automatically at {self._until:%Y-%m-%d %H:%M:%S} UTC."

    async def wait(self) -> None:
        """Wait for a change; after the cool-down, approve on disk unless the loop is paused."""
        left = self._ends - self._steady()
        state = self._run.docs.state
        if state.retry_now:
            await self._run.project_state.transact(forget_retry)
            await self._approve(RETRIED, "")
        elif left <= 0 and state.pause is StopMode.NONE:
            await self._approve("the cool-down is over", BY_CLOCK)
        elif left <= 0:
            await self._run.project_state.wait_changed()
        else:
            ends = self._run.clock() + timedelta(seconds=left)
            if abs(ends - self._until) > CLOCK_TOLERANCE:
                self._until = ends
                await change_breaker(
                    self._run, lambda breaker: breaker.cooling(ends), "the system clock was changed"
                )
            await self._run.project_state.wait_changed_within(left)

    async def _approve(self, reason: str, by: str) -> None:
        await decide_in_their_place(
            self._run, ApprovalKind.RECOVERY, approved=True, reason=reason, by=by
        )


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
