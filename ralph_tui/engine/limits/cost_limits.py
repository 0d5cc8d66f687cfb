"""Check costs against the cost limits, and phrase the result. No other module decides this.

A turn is checked after every usage report, a run before every iteration. The SDK gets the remaining amount
as the session's budget, as a safety net. The breaker's file has a copy of the total for people to read.
"""

from dataclasses import dataclass

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.engine.core.outcome import End, stopped_end

_SCOPES = {
    CostLevel.ITERATION: "the iteration",
    CostLevel.SESSION: "this run",
    CostLevel.TOTAL: "the project",
}
_SETTINGS = {
    CostLevel.ITERATION: "per_iteration",
    CostLevel.SESSION: "per_session",
    CostLevel.TOTAL: "total",
}


@dataclass(frozen=True)
class CostLimitReached:
    """A cost limit that is used up.

    Attributes:
        level: The scope of the limit: the iteration, the run or the project.
        spent: The cost so far, in US dollars.
        limit: The limit, in US dollars.
    """

    level: CostLevel
    spent: float
    limit: float

    @property
    def ends_run(self) -> bool:
        """Whether no other iteration may begin, because the limit is the run's or the project's."""
        return self.level is not CostLevel.ITERATION

    @property
    def reason(self) -> str:
        return f"{_SCOPES[self.level]} has cost ${self.spent:.2f} of ${self.limit:.2f}"

    @property
    def event(self) -> ev.LimitReached:
        return ev.LimitReached(
            kind=f"cost_{self.level.value}",
            value=self.spent,
            limit=self.limit,
            message=f"{self.reason[:1].upper()}{self.reason[1:]}.",
        )

    @property
    def end(self) -> End:
        for_one = "--max-cost or " if self.level is CostLevel.SESSION else ""
        hint = f"Raise {for_one}safety.cost_limits.{_SETTINGS[self.level]}, then run again."
        return stopped_end(self.reason, hint)


def cost_limit_reached(costs: CostMeter, limits: CostLimits) -> CostLimitReached | None:
    level = costs.exceeded(limits)
    return None if level is None else CostLimitReached(level, costs.of(level), limits.of(level))
