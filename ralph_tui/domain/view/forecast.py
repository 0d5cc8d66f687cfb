"""Estimate how long the rest of the plan takes and what it costs, always with the basis of the estimate."""

from collections.abc import Sequence

from ralph_tui.domain.base import Model
from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.view.run_history import Iteration

MAX_FINISHED = 20
"""How many completed tasks the pace is based on, the latest ones; older tasks say little about the next."""


class Forecast(Model):
    """The estimated rest of the work, at the pace of the last completed tasks."""

    open_tasks: int
    finished: int
    """How many completed tasks the pace is based on; 0 if there is no pace yet."""
    seconds: float = 0.0
    cost_usd: float = 0.0

    @property
    def basis(self) -> str:
        """The basis of the estimate, in words."""
        if not self.open_tasks:
            return "every task is complete"
        if not self.finished:
            return "estimating…"
        tasks = "task" if self.finished == 1 else f"{self.finished} tasks"
        return f"at the pace of the last {tasks}, failed attempts included"


def forecast(attempts: Sequence[Iteration | IterationFinished], open_tasks: int) -> Forecast:
    """Estimate the time and cost of the open tasks from past attempts, oldest first, failed ones included."""
    spent: list[Iteration | IterationFinished] = []
    finished = 0
    for attempt in reversed(attempts):
        complete = attempt.outcome is IterationOutcome.COMPLETE
        if complete and finished == MAX_FINISHED:
            break
        finished += complete
        spent.append(attempt)
    if not finished:
        return Forecast(open_tasks=open_tasks, finished=0)
    share = open_tasks / finished
    return Forecast(
        open_tasks=open_tasks,
        finished=finished,
        seconds=share * sum(attempt.seconds for attempt in spent),
        cost_usd=share * sum(attempt.cost_usd for attempt in spent),
    )
