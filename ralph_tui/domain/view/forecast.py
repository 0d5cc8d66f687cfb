"""Estimates when the plan will be finished and what it will cost, always with the basis of the estimate."""

from collections.abc import Sequence
from typing import Protocol

from ralph_tui.domain.base import Model
from ralph_tui.domain.events import IterationOutcome

LOOKED_AT = 20
"""The last tasks that were finished; older ones say little about the next."""


class Tried(Protocol):
    """An attempt at a task, as the journal or an event tells of it."""

    @property
    def outcome(self) -> IterationOutcome | None:
        """How the attempt ended; None while it runs."""
        ...

    @property
    def seconds(self) -> float:
        """How long it took."""
        ...

    @property
    def cost_usd(self) -> float:
        """What it cost."""
        ...


class Forecast(Model):
    """What is left, at the pace of the tasks that were finished last."""

    open_tasks: int
    finished: int
    """Tasks the pace is taken from; 0 when there is no pace yet."""
    seconds: float = 0.0
    cost_usd: float = 0.0

    @property
    def basis(self) -> str:
        """What it is based on, in words."""
        if not self.open_tasks:
            return "every task is complete"
        if not self.finished:
            return "not known yet"
        tasks = "task" if self.finished == 1 else f"{self.finished} tasks"
        return f"at the pace of the last {tasks}, failed attempts included"


def forecast(tries: Sequence[Tried], open_tasks: int) -> Forecast:
    """Estimate what the open tasks will take, failed attempts included."""
    spent: list[Tried] = []
    finished = 0
    for tried in reversed(tries):
        complete = tried.outcome is IterationOutcome.COMPLETE
        if complete and finished == LOOKED_AT:
            break
        finished += complete
        spent.append(tried)
    if not finished:
        return Forecast(open_tasks=open_tasks, finished=0)
    share = open_tasks / finished
    return Forecast(
        open_tasks=open_tasks,
        finished=finished,
        seconds=share * sum(i.seconds for i in spent),
        cost_usd=share * sum(i.cost_usd for i in spent),
    )
