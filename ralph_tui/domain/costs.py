"""Costs in US dollars: the three limits, and the meter that counts toward them."""

import math
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field

from ralph_tui.domain.base import Model

MICROS = 1_000_000
"""Micro-dollars in a dollar."""

MAX_DOLLARS = 1e12
"""Larger amounts, which only a damaged file can contain, are capped at this one."""


def micros(usd: float) -> int:
    """Return US dollars as whole micro-dollars.

    A positive amount is at least one micro-dollar, because a limit of zero means no limit.
    """
    return max(1, round(min(usd, MAX_DOLLARS) * MICROS)) if usd > 0 else 0


def dollars(amount: int) -> float:
    return amount / MICROS


def plus(*amounts: float) -> float:
    return dollars(sum(map(micros, amounts)))


def minus(usd: float, other: float) -> float:
    return dollars(max(0, micros(usd) - micros(other)))


Money = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(lambda usd: dollars(micros(usd)))
]
"""US dollars, never negative and never NaN, which would disable every limit."""


class CostLevel(StrEnum):
    """The scope that a limit applies to."""

    ITERATION = "iteration"
    SESSION = "session"
    TOTAL = "total"


class CostLimits(Model):
    """Limits in US dollars. Reaching one stops the work in its scope; 0 means no limit."""

    per_iteration: Money = 2.0
    per_session: Money = 50.0
    total: Money = 200.0

    def of(self, level: CostLevel) -> float:
        return (self.per_iteration, self.per_session, self.total)[list(CostLevel).index(level)]


class CostMeter(Model):
    """The cost of this iteration, this run and the whole project, in US dollars."""

    iteration: Money = 0.0
    session: Money = 0.0
    total: Money = 0.0

    def add(self, usd: float) -> "CostMeter":
        if not 0 <= usd < float("inf"):
            msg = f"A cost must be a finite number of dollars, zero or more, not {usd}."
            raise ValueError(msg)
        return CostMeter(
            iteration=plus(self.iteration, usd),
            session=plus(self.session, usd),
            total=plus(self.total, usd),
        )

    def next_iteration(self) -> "CostMeter":
        return self.model_copy(update={"iteration": 0.0})

    def of(self, level: CostLevel) -> float:
        return (self.iteration, self.session, self.total)[list(CostLevel).index(level)]

    def exceeded(self, limits: CostLimits) -> CostLevel | None:
        widest_first = (CostLevel.TOTAL, CostLevel.SESSION, CostLevel.ITERATION)
        return next((lv for lv in widest_first if 0 < limits.of(lv) <= self.of(lv)), None)

    def remaining(self, limits: CostLimits) -> float:
        limited = [level for level in CostLevel if limits.of(level) > 0]
        return min((minus(limits.of(level), self.of(level)) for level in limited), default=math.inf)
