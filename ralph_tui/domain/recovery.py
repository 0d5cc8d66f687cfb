"""What to do when the breaker opens: policy, not luck (seeds, RecoveryManager)."""

from ralph_tui.domain.breaker import CircuitBreaker, RecoveryAction, Signal
from ralph_tui.domain.plan import ImplementationPlan, Task, TaskStatus

REGENERATE_BELOW = 0.5
"""Share of the plan complete below which a plan that stands still is made anew."""

RETRIES_BEFORE_SKIP = 2


def recovery_for(plan: ImplementationPlan, breaker: CircuitBreaker) -> RecoveryAction:
    """The seeds' order: a new plan, else skip what failed too often, else ask a person."""
    signal = breaker.tripped()
    if signal is None or signal.name == "cost":
        return RecoveryAction.MANUAL_INTERVENTION
    if signal.name == "stagnation" and plan.completion_percentage < REGENERATE_BELOW:
        return RecoveryAction.REGENERATE_PLAN
    if given_up(plan, signal) is not None and plan.ready():
        return RecoveryAction.SKIP_CURRENT_TASK
    return RecoveryAction.MANUAL_INTERVENTION


def given_up(plan: ImplementationPlan, signal: Signal) -> Task | None:
    """The task that all of a signal's evidence is about, once its retries are used up."""
    names = {text.partition(":")[0] for text in signal.evidence}
    task = plan.task(names.pop()) if len(names) == 1 else None
    if task is None or task.status is not TaskStatus.BLOCKED:
        return None
    return task if task.retry_count > RETRIES_BEFORE_SKIP else None
