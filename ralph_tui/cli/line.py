"""One line of a told run."""

from typing import NamedTuple

from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.sanitize import one_line

LIMIT = 600
"""Most characters of one line."""


class Line(NamedTuple):
    """One line of text, already inert; `tone` is a Rich style and may be lost without harm."""

    text: str
    tone: str = ""
    indent: int = 0

    def __str__(self) -> str:
        return "  " * self.indent + self.text


def line(text: str, tone: str = "", indent: int = 0) -> Line:
    """A line from text that may come from a model, a tool or a file."""
    return Line(one_line(text, LIMIT), tone, indent)


def counted(breaker: CircuitBreaker) -> str:
    """The breaker's signals that have counted anything, each as n/threshold; money is told elsewhere."""
    signals = (s for s in breaker.signals() if s.count and s.name != "cost")
    told = ", ".join(f"{s.name} {s.count:g}/{s.threshold:g}" for s in signals)
    return told or "nothing counts against it"
