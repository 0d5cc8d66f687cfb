"""Money: the three limits, and the meter that counts towards them."""

import math
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from ralph_tui.domain.base import Model

MICROS = 1_000_000
"""Micro-dollars in a dollar."""


MOST = 1e12
"""More dollars than this are this many; nobody has them, but a file may say so."""


def micros(usd: float) -> int:
    """Return US dollars as whole micro-dollars; more than nothing is at least one, because a limit of zero is no limit."""
    return max(1, round(min(usd, MOST) * MICROS)) if usd > 0 else 0


def dollars(amount: int) -> float:
    """Return whole micro-dollars as US dollars."""
    return amount / MICROS


def plus(*amounts: float) -> float:
    """Return the exact sum of amounts in US dollars."""
    return dollars(sum(map(micros, amounts)))


def minus(usd: float, other: float) -> float:
    """Subtract an amount in US dollars; the result is never below zero."""
    return dollars(max(0, micros(usd) - micros(other)))


def _exact(usd: float) -> float:
    return dollars(micros(usd))


Money = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_exact)]
"""US dollars; never negative, never NaN (a NaN would switch every limit off)."""


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
        """Return the limit for one scope."""
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
        """Return a copy with `usd` more at every level.

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
        """Return a copy with the iteration's figure at zero."""
        return self.model_copy(update={"iteration": 0.0})

    def of(self, level: CostLevel) -> float:
        """Return what was spent in one scope."""
        return {
            CostLevel.ITERATION: self.iteration,
            CostLevel.SESSION: self.session,
            CostLevel.TOTAL: self.total,
        }[level]

    def exceeded(self, limits: CostLimits) -> CostLevel | None:
        """Return the widest limit that is used up, or None."""
        widest_first = (CostLevel.TOTAL, CostLevel.SESSION, CostLevel.ITERATION)
        return next((lv for lv in widest_first if 0 < limits.of(lv) <= self.of(lv)), None)

    def remaining(self, limits: CostLimits) -> float:
        """Return what the next response may cost before the narrowest limit is used up; infinite without one."""
        limited = [level for level in CostLevel if limits.of(level) > 0]
        return min((minus(limits.of(level), self.of(level)) for level in limited), default=math.inf)
