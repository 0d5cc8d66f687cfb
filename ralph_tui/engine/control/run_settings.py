"""Change limits, models and the breaker of a running loop, from any process.

A change is written to disk, and the loop reads it before its next step.
"""

from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Adjusted, ApprovalKind
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project


def reset_breaker(root: Path, reason: str) -> CircuitBreaker:
    """Close the circuit breaker, reset its counters and record the reason.

    A loop that waits for a decision about the open breaker continues.
    """
    if not reason.strip():
        message = "A reset needs a reason."
        raise RalphError(message, "Say what you fixed.")

    def change(docs: Documents) -> Documents:
        closed = docs.breaker.reset(reason.strip())
        waiting = docs.state.approval
        if waiting is None or waiting.kind is not ApprovalKind.RECOVERY:
            return docs.replacing(breaker=closed)
        decided = waiting.model_copy(update={"approved": True, "reason": closed.reset_reason})
        return docs.with_state(approval=decided).replacing(breaker=closed)

    return Project(root).transact(change).breaker


def adjust(root: Path, wanted: Adjusted) -> Adjusted:
    """Change limits or models of the current run; None keeps a value. Return all changes for this run.

    Limits apply immediately, a model from the next session on.
    """
    project = Project(root)
    if LoopLock(project.layout).feature_owner() is None:
        of = f" of {project.layout.feature}" if project.layout.feature else ""
        message = f"No loop{of} is running in {root}, so its limits and models cannot be changed."
        raise RalphError(message, "Change the setting instead: `ralph config set KEY VALUE`.")
    given = wanted.model_dump(exclude_none=True)

    def change(docs: Documents) -> Documents:
        before = docs.state.adjusted or Adjusted()
        # The breaker compares the project's cost with its own copy of the limit.
        breaker = docs.breaker.model_copy(
            update={"max_cost_usd": given.get("total", docs.breaker.max_cost_usd)}
        )
        return docs.with_state(adjusted=before.model_copy(update=given)).replacing(breaker=breaker)

    adjusted = project.transact(change).state.adjusted
    assert adjusted is not None
    return adjusted


def adjusted_settings(settings: Settings, adjusted: Adjusted | None) -> Settings:
    if adjusted is None:
        return settings
    given = adjusted.model_dump(exclude_none=True)
    money = {name: usd for name, usd in given.items() if name in CostLimits.model_fields}
    names = {"model": "primary", "planning_model": "planning"}
    models = {ours: given[name] for name, ours in names.items() if name in given}
    building = settings.phases.building
    iterations = given.get("max_iterations", building.max_iterations)
    limits = settings.safety.cost_limits.model_copy(update=money)
    return settings.model_copy(
        update={
            "phases": settings.phases.model_copy(
                update={"building": building.model_copy(update={"max_iterations": iterations})}
            ),
            "safety": settings.safety.model_copy(update={"cost_limits": limits}),
            "models": settings.models.model_copy(update=models),
        }
    )
