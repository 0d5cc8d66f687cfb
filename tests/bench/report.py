"""What a benchmark says: rows of a Markdown table, each a ratio against a peer of the same run."""

import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import textual

from ralph_tui import __version__


@dataclass(frozen=True)
class Row:
    """One comparison; `ratio` is ours divided by the peer's."""

    what: str
    ours: str
    peer: str
    ratio: float
    target: str = ""

    def cells(self) -> tuple[str, ...]:
        return (self.what, self.ours, self.peer, f"{self.ratio:.2f}", self.target)


def in_turns(
    ours: Callable[[], float], peer: Callable[[], float], rounds: int
) -> tuple[float, float]:
    """Medians of both, measured by turns, so that a busy moment falls on both."""
    figures = [(peer(), ours()) for _ in range(rounds)]
    return statistics.median(o for _, o in figures), statistics.median(p for p, _ in figures)


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"


def timed_row(what: str, ours: float, peer: float, peer_name: str, target: str = "") -> Row:
    return Row(what, seconds(ours), f"{peer_name}: {seconds(peer)}", ours / peer, target)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def table(rows: Sequence[Row]) -> str:
    head = ("what", "ralph", "peer", "ratio", "target")
    lines = [head, ("---", "---", "---", "---:", "---"), *(row.cells() for row in rows)]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{machine()}\n\n{text}\n"


def machine() -> str:
    load = os.getloadavg()[1]
    gigabytes = psutil.virtual_memory().total / 1e9
    return (
        f"ralph {__version__}, Python {platform.python_version()}, Textual {textual.__version__} on "
        f"{_processor()}, {os.cpu_count()} cores, {gigabytes:.0f} GB, "
        f"{platform.system()} {platform.release()}; load average {load:.1f}. "
        "Medians; both sides of a row were measured by turns in the same run."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:  # not Linux
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
