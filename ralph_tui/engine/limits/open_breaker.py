"""Handle an open breaker: make a new plan, end the run, or try once more.

Whether to try is the person's to say. While they are waited for the cool-down runs; when it is over the
clock says it in their place, so that a loop left alone for the night is not dead until the morning.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, RecoveryAction, recovery_for
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, nothing_ready, stopped_end
from ralph_tui.engine.decisions.ask_person import decide
from ralph_tui.engine.limits.backoff import RETRIED, changed_within, forget_retry
from ralph_tui.store.project import Documents

BY_CLOCK = "cool-down"

SET_BY = timedelta(seconds=5)
"""A wall clock that is off by more was set."""


def steady_seconds() -> float:
    """Return the seconds of a clock that nobody sets and that runs while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


async def change_breaker(
    run: RunContext, change: Callable[[CircuitBreaker], CircuitBreaker], reason: str
) -> None:
    """Change the breaker's state, and report the reason."""
    await run.project_state.transact(
        lambda docs: docs.replacing(breaker=change(docs.breaker)), reason
    )


def _try_one(breaker: CircuitBreaker) -> CircuitBreaker:
    """Half-open the breaker, unless somebody has closed it meanwhile."""
    return breaker.half_open() if breaker.state is BreakerState.OPEN else breaker


async def get_past_open(
    run: RunContext,
    request: RunRequest,
    limit: End | None,
    *,
    steady: Callable[[], float] = steady_seconds,
) -> End | None:
    """Recover by policy; returns None when one iteration may run (half-open).

    Where no task can be tried there is nothing to ask about either.

    Args:
        run: The parts of the run.
        request: Says whether somebody can be asked, and whether one phase runs alone.
        limit: What would end the run before the next iteration, so that there is nothing to ask about.
        steady: Counts the seconds of the cool-down.
    """
    docs = run.docs
    action = recovery_for(docs.plan, docs.breaker)
    end = end_of_open(docs.breaker).model_copy(update={"recovery": action})
    reason = end.reason
    plans_anew = action is RecoveryAction.REGENERATE_PLAN and request.only is None
    if plans_anew:
        return end
    if docs.state.current_phase is Phase.BUILDING and _is_stuck(docs.plan):
        stuck = nothing_ready(docs.plan)
        return end.model_copy(update={"reason": f"{reason}; {stuck.reason}", "hint": stuck.hint})
    if limit is not None or not request.interactive:
        return end
    until = await _cool(run, reason)
    cooling = None if until is None else CoolDown(run, until, steady)
    return await _ask(run, request, reason, end, cooling)


def _is_stuck(plan: ImplementationPlan) -> bool:
    """Return whether an iteration would have nothing to work on."""
    return bool(plan.tasks) and not plan.ready() and plan.get_current_task() is None


async def _ask(
    run: RunContext, request: RunRequest, reason: str, no: End, cooling: "CoolDown | None"
) -> End | None:
    """Ask for one more try; returns None for yes, by the person or the clock, and `no` otherwise."""
    summary = (
        f"{reason[:1].upper()}{reason[1:]}. Try one more iteration? The loop continues if it completes "
        "a task; otherwise it asks again. No ends this run, and nothing is lost."
        f"{cooling.told if cooling else ''}"
    )
    wait = cooling.wait if cooling else None
    decided = await decide(run, request, ApprovalKind.RECOVERY, summary, wait=wait)
    if isinstance(decided, End) or not decided.approved:
        await change_breaker(run, lambda breaker: breaker.cooling(None), "the run ends")
        return decided if isinstance(decided, End) else no
    await change_breaker(run, _try_one, decided.reason or _WHY_TRIED)
    return None


_WHY_TRIED = "the person lets one iteration try"


async def _cool(run: RunContext, reason: str) -> datetime | None:
    """Begin the cool-down, or continue that of a killed run; returns when it is over."""
    breaker = run.docs.breaker
    until = cool_until(breaker, run.settings.circuit_breaker.cooldown_minutes, run.clock())
    if until != breaker.half_open_at:
        await change_breaker(run, lambda now: now.cooling(until), reason)
    return until


def cool_until(breaker: CircuitBreaker, minutes: float, now: datetime) -> datetime | None:
    """Return when an open breaker retries automatically; None for never.

    A time that was set before holds, but no clock that was set back makes a cool-down longer than it is.
    """
    if not minutes or breaker.is_spent:
        return None
    latest = now + timedelta(minutes=minutes)
    return min(breaker.half_open_at or latest, latest)


class CoolDown:
    """Waits for the person as long as the cool-down lasts, then decides in their place.

    It lasts its time by a clock that nobody sets and that runs while the machine sleeps; the time of the
    wall clock is what is shown, and follows when that clock is set.
    """

    def __init__(self, run: RunContext, until: datetime, steady: Callable[[], float]) -> None:
        """Count from now on."""
        self._run = run
        self._until = until
        self._steady = steady
        self._ends = steady() + (until - run.clock()).total_seconds()

    @property
    def told(self) -> str:
        """What happens when nobody answers."""
        return f" Without an answer, ralph runs one at {self._until:%Y-%m-%d %H:%M:%S} UTC."

    async def wait(self) -> None:
        """Wait until something changes; after the cool-down, decide on disk unless the loop is paused."""
        left = self._ends - self._steady()
        state = self._run.docs.state
        if state.retry_now:
            await self._run.project_state.transact(forget_retry)
            await self._say_yes(RETRIED, "")
        elif left <= 0 and state.pause is StopMode.NONE:
            await self._say_yes("the cool-down is over", BY_CLOCK)
        elif left <= 0:
            await self._run.project_state.wait_changed()
        else:
            await self._show(left)
            await changed_within(self._run, left)

    async def _show(self, left: float) -> None:
        ends = self._run.clock() + timedelta(seconds=left)
        if abs(ends - self._until) > SET_BY:
            self._until = ends
            await change_breaker(
                self._run, lambda breaker: breaker.cooling(ends), "the clock was set"
            )

    async def _say_yes(self, reason: str, by: str) -> None:
        """Approve, as a person would from another terminal; an earlier decision holds."""

        def change(docs: Documents) -> Documents:
            open_ = docs.state.approval
            if open_ is None or open_.kind is not ApprovalKind.RECOVERY or _is_decided(open_):
                return docs
            yes = {"approved": True, "reason": reason, "decided_by": by}
            return docs.with_state(approval=open_.model_copy(update=yes))

        await self._run.project_state.transact(change)


def _is_decided(approval: Approval) -> bool:
    return approval.approved is not None


def end_of_open(breaker: CircuitBreaker) -> End:
    """Return the end of a run that an open breaker stops."""
    return stopped_end(_why_open(breaker), _what_to_do(breaker))


def _why_open(breaker: CircuitBreaker) -> str:
    signal = breaker.tripped()
    cause = breaker.opened_by or (signal.cause if signal else "it was opened by an earlier run")
    return f"the circuit breaker opened: {cause}"


def _what_to_do(breaker: CircuitBreaker) -> str:
    signal = breaker.tripped()
    advice = _ADVICE.get(signal.name, _FIX) if signal else _FIX
    return f"{advice} Then run again: a new run closes the breaker."


_FIX = "Fix the cause (`ralph breaker` shows what counted)."
_ADVICE = {
    "stagnation": "Split the tasks or give guidance (`ralph edit`, `ralph inject`).",
    "denials": "Run the command yourself, or change the task so that it needs none (`ralph edit`).",
    "output collapse": "Check the last iterations (`ralph history`), or use another model (models.primary).",
    "tests only": "Change the task so that it says what to build (`ralph edit`).",
    "cost": "Raise safety.cost_limits.total.",
}
