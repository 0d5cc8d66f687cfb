"""Compute the seven success metrics of the seeds (section 13) from the history.

Each metric has its definition and its denominator. A metric with nothing to count is unknown, not zero.
"""

from collections import defaultdict

from ralph_tui.domain.base import Model
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import complete_ids
from ralph_tui.domain.view.run_history import RunHistory


class Metric(Model):
    """One figure with its definition. `value` is None while `denominator` is zero."""

    name: str
    title: str
    target: str
    """The goal, such as `> 90 %`."""
    definition: str
    unit: str = "time"
    """The unit of the denominator, in the singular."""
    numerator: float = 0.0
    denominator: float = 0.0
    unknown: str = ""
    """Why there is no value."""

    @property
    def value(self) -> float | None:
        return self.numerator / self.denominator if self.denominator else None


def metrics_of(past: RunHistory) -> tuple[Metric, ...]:
    tasks, its = past.tasks, past.iterations
    done = complete_ids(tasks.values())
    of_tasks = [it for it in its if it.is_on_task]
    attempted, numbers = {it.task_id for it in of_tasks}, {it.number for it in of_tasks}
    used = [it for it in its if it.context_tokens and it.capacity]
    left = sum(it.outcome is IterationOutcome.INCOMPLETE for it in its)
    over = (IterationOutcome.COMPLETE, IterationOutcome.SENT_BACK)
    claimed = sum(it.claims if it.is_on_task else it.outcome in over for it in its)
    refused = sum(it.refused_claims for it in of_tasks)
    costs: defaultdict[str, float] = defaultdict(float)
    for it in of_tasks:
        costs[it.task_id] += it.cost_usd
    sizes = {
        id_: tasks[id_].estimated_tokens or 0 for id_, cost in costs.items() if cost and id_ in done
    }
    estimates = {task_id: size for task_id, size in sizes.items() if size}
    spent = sum(costs[task_id] for task_id in estimates)
    price = spent / (sum(estimates.values()) or 1)
    off = sum(abs(costs[task_id] - price * size) for task_id, size in estimates.items())
    return (
        Metric(
            name="task_completion_rate",
            title="Completed tasks",
            target="> 90 %",
            definition="Share of attempted tasks that are complete.",
            unit="task",
            numerator=len(attempted & done),
            denominator=len(attempted),
            unknown="no task was attempted",
        ),
        Metric(
            name="context_efficiency",
            title="Context use",
            target="< 60 %",
            definition="How full the context window was when iterations ended, on average.",
            unit="token",
            numerator=sum(it.context_tokens for it in used),
            denominator=sum(it.capacity for it in used),
            unknown="no iteration reported its context",
        ),
        Metric(
            name="false_exit_rate",
            title="Rejected claims",
            target="< 5 %",
            definition='Share of "done" claims that failed verification. '
            "A turn that left its task or phase unfinished counts as failed.",
            unit="claim",
            numerator=left + refused,
            denominator=left + claimed,
            unknown="the agent has not claimed anything yet",
        ),
        Metric(
            name="stagnation_recovery",
            title="Recovery from stagnation",
            target="> 80 %",
            definition="How often a task was completed after the loop had stopped making progress.",
            numerator=past.recovered,
            denominator=past.stagnations,
            unknown="the loop has never stagnated",
        ),
        Metric(
            name="cost_predictability",
            title="Cost beside the estimate",
            target="< 20 %",
            definition="How far the costs of completed tasks were from the plan's estimates, at what a token cost on average.",
            unit="cent",
            numerator=100 * off,
            denominator=100 * spent * (len(estimates) > 1),  # one cost shows no spread
            unknown="fewer than two completed tasks had an estimate",
        ),
        Metric(
            name="user_intervention_rate",
            title="Help from you",
            target="< 10 %",
            definition="Share of the iterations on tasks that asked you or got guidance.",
            unit="iteration",
            numerator=len(past.helped & numbers),
            denominator=len(numbers),
            unknown="no iteration has begun",
        ),
        Metric(
            name="build_reproducibility",
            title="Successful builds",
            target="100 %",
            definition="Share of commands that build, or install from a lock file, and succeeded.",
            unit="build",
            numerator=past.good_builds,
            denominator=past.builds,
            unknown="no build command ran",
        ),
    )
