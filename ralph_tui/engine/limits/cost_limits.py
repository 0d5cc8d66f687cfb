"""Check what was spent against the cost limits: the one place that decides, and the words for it.

A turn is checked after every usage report, a run before every iteration. What is left goes to the SDK as a
session's own budget, a safety net. The breaker's file holds a copy of the total, for the person to read.
"""

from dataclasses import dataclass

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.engine.core.outcome import End, stopped_end

_WHAT = {
    CostLevel.ITERATION: "the iteration",
    CostLevel.SESSION: "this run",
    CostLevel.TOTAL: "the project",
}
_SETTING = {
    CostLevel.ITERATION: "per_iteration",
    CostLevel.SESSION: "per_session",
    CostLevel.TOTAL: "total",
}


@dataclass(frozen=True)
class CostLimitReached:
    """A limit that is used up.

    Attributes:
        level: What the limit is about: the iteration, the run or the project.
        spent: What was spent of it, in US dollars.
        limit: The limit, in US dollars.
    """

    level: CostLevel
    spent: float
    limit: float

    @property
    def ends_run(self) -> bool:
        """Whether no other iteration may begin: the run or the project has spent what it may."""
        return self.level is not CostLevel.ITERATION

    @property
    def told(self) -> str:
        """What was spent of the limit, as a clause."""
        return f"{_WHAT[self.level]} cost ${self.spent:.2f} of ${self.limit:.2f}"

    @property
    def event(self) -> ev.LimitReached:
        """What the faces hear."""
        return ev.LimitReached(
            kind=f"cost_{self.level.value}",
            value=self.spent,
            limit=self.limit,
            message=f"{self.told[:1].upper()}{self.told[1:]}.",
        )

    @property
    def end(self) -> End:
        """The end of the run."""
        hint = f"Raise safety.cost_limits.{_SETTING[self.level]}, then run again."
        return stopped_end(self.told, hint)


def cost_limit_reached(costs: CostMeter, limits: CostLimits) -> CostLimitReached | None:
    """Return the widest limit that is used up, or None."""
    level = costs.exceeded(limits)
    return None if level is None else CostLimitReached(level, costs.of(level), limits.of(level))
