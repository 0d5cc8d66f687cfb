"""Handle an open breaker: replan, end the run, or try one more iteration.

The person decides whether to try. When the cool-down ends without an answer, the loop approves the attempt
automatically, so that an unattended run does not stop for the night.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from ralph_tui.domain.project_state import ApprovalKind, Phase, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, should_remake
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import End, nothing_ready, stopped_end
from ralph_tui.engine.decisions.ask_person import decide, decide_in_their_place
from ralph_tui.engine.limits.waits import RETRIED, Countdown, forget_retry

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
