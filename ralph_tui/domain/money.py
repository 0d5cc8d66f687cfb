"""Money, counted in whole micro-dollars: sums are exact, in any order, and never fall by a rounding error.

Files and events hold US dollars, as people and the seeds write them; each amount is the number of dollars
next to a whole number of micro-dollars, so that it is written as it is read.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

MICROS = 1_000_000
"""Micro-dollars in a dollar."""


MOST = 1e12
"""More dollars than this are this many; nobody has them, but a file may say so."""


def micros(usd: float) -> int:
    """An amount in US dollars as whole micro-dollars; more than nothing is at least one, because a limit of zero is no limit."""
    return max(1, round(min(usd, MOST) * MICROS)) if usd > 0 else 0


def dollars(amount: int) -> float:
    """Whole micro-dollars as US dollars."""
    return amount / MICROS


def plus(*amounts: float) -> float:
    """The exact sum of amounts in US dollars."""
    return dollars(sum(map(micros, amounts)))


def minus(usd: float, other: float) -> float:
    """What is left of an amount in US dollars; never below zero."""
    return dollars(max(0, micros(usd) - micros(other)))


def _exact(usd: float) -> float:
    return dollars(micros(usd))


Money = Annotated[float, Field(ge=0, allow_inf_nan=False), AfterValidator(_exact)]
"""US dollars; never negative, never NaN (a NaN would switch every limit off)."""
