"""Money: the three limits and the meter that is held against them."""

import math
from enum import StrEnum

from ralph_tui.domain.model import Model
from ralph_tui.domain.money import Money, minus, plus


class CostLevel(StrEnum):
    """The scope a limit applies to."""

    ITERATION = "iteration"
    SESSION = "session"
    TOTAL = "total"


class CostLimits(Model):
    """Limits in US dollars; reaching one stops the work of its scope, and 0 is no limit."""

    per_iteration: Money = 2.0
    per_session: Money = 50.0
    total: Money = 200.0

    def of(self, level: CostLevel) -> float:
        """The limit for one scope."""
        return {
            CostLevel.ITERATION: self.per_iteration,
            CostLevel.SESSION: self.per_session,
            CostLevel.TOTAL: self.total,
        }[level]


class CostMeter(Model):
    """What was spent in this iteration, in this session and in the project, in US dollars."""

    iteration: Money = 0.0
    session: Money = 0.0
    total: Money = 0.0

    def add(self, usd: float) -> "CostMeter":
        """A copy with `usd` more at every level.

        Raises:
            ValueError: `usd` is negative, NaN or infinite.
        """
        if not 0 <= usd < float("inf"):
            msg = f"A cost must be a finite number of dollars, zero or more, not {usd}."
            raise ValueError(msg)
        return CostMeter(
            iteration=plus(self.iteration, usd),
            session=plus(self.session, usd),
            total=plus(self.total, usd),
        )

    def next_iteration(self) -> "CostMeter":
        """A copy with the iteration's figure at zero."""
        return self.model_copy(update={"iteration": 0.0})

    def of(self, level: CostLevel) -> float:
        """What was spent in one scope."""
        return {
            CostLevel.ITERATION: self.iteration,
            CostLevel.SESSION: self.session,
            CostLevel.TOTAL: self.total,
        }[level]

    def exceeded(self, limits: CostLimits) -> CostLevel | None:
        """The widest limit that is used up, or None."""
        widest_first = (CostLevel.TOTAL, CostLevel.SESSION, CostLevel.ITERATION)
        return next((lv for lv in widest_first if 0 < limits.of(lv) <= self.of(lv)), None)

    def remaining(self, limits: CostLimits) -> float:
        """What the next response may cost before the narrowest limit is used up; infinite without one."""
        limited = [level for level in CostLevel if limits.of(level) > 0]
        return min((minus(limits.of(level), self.of(level)) for level in limited), default=math.inf)
