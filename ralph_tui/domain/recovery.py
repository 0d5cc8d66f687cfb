"""What to do when the breaker opens: policy, not luck (seeds, RecoveryManager)."""

from ralph_tui.domain.breaker import CircuitBreaker, RecoveryAction
from ralph_tui.domain.plan import ImplementationPlan

REGENERATE_BELOW = 0.5
"""Share of the plan complete below which a plan that stands still is made anew."""


def recovery_for(plan: ImplementationPlan, breaker: CircuitBreaker) -> RecoveryAction:
    """The seeds' order: a new plan where the loop stands still, else a person decides."""
    signal = breaker.tripped()
    if signal is not None and signal.name == "stagnation":
        return recovery_of_plan(plan)
    return RecoveryAction.MANUAL_INTERVENTION


def recovery_of_plan(plan: ImplementationPlan) -> RecoveryAction:
    """What to do about a plan that leads no further."""
    if plan.completion_percentage < REGENERATE_BELOW:
        return RecoveryAction.REGENERATE_PLAN
    return RecoveryAction.MANUAL_INTERVENTION
