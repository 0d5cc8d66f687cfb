"""From a key to its paint, on a real terminal, while events stream into the app."""

import json
import random
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyte

from tests.bench.ptys import recording
from tests.bench.report import percentile

SECONDS = 16.0
JOURNEYS = 5
REST = 0.75
SIZE = (120, 40)
FIRST_ROW, LAST_ROW = 4, 11
"""Where the eight tasks of `streaming.py` stand on the screen."""


@dataclass(frozen=True)
class Paced:
    """How the app did at one rate."""

    rate: float
    """Events a second that were shown."""
    cpu: float
    """Share of a core."""
    latencies: tuple[float, ...]

    @property
    def p50(self) -> float:
        return statistics.median(self.latencies)

    @property
    def p95(self) -> float:
        """All but the slowest twentieth, in seconds."""
        return percentile(self.latencies, 95)


def streaming(rate: int, seconds: float, root: Path, report: Path, tasks: int = 8) -> list[str]:
    script = Path(__file__).with_name("streaming.py")
    return [sys.executable, str(script), *map(str, (rate, seconds, root, report, tasks))]


def paced(rate: int, tmp: Path) -> Paced:
    """Stream `rate` events a second and move the board's cursor meanwhile."""
    tmp.mkdir()
    report = tmp / "report.json"
    command = streaming(rate, SECONDS, tmp, report)
    presses = []
    chance = random.Random(rate)  # keys must not fall into step with the flush
    with recording(command, tmp, size=SIZE) as record:
        record.wait_for(b"task-08")
        record.child.send("1")
        time.sleep(0.5)
        for _ in range(JOURNEYS):
            for row in range(FIRST_ROW + 1, LAST_ROW + 1):
                presses.append((time.perf_counter(), row))
                record.child.send("j")
                time.sleep(0.1 + chance.random() * 0.1)
            time.sleep(REST)  # the last move must be seen before the cursor goes home
            record.child.send("g")
            time.sleep(REST)
        assert record.ended.wait(60), "the app did not leave"
        moves = cursor_moves(record.pieces)
    figures = json.loads(report.read_text())
    return Paced(figures["rate"], figures["cpu"], _latencies(presses, moves))


def cursor_moves(pieces: list[tuple[float, bytes]]) -> list[tuple[float, int]]:
    """When the board's cursor was seen in which row."""
    screen = pyte.Screen(*SIZE)
    stream = pyte.ByteStream(screen)
    moves: list[tuple[float, int]] = []
    for moment, data in pieces:
        stream.feed(data)
        row = _cursor_row(screen)
        if row is not None and (not moves or moves[-1][1] != row):
            moves.append((moment, row))
    return moves


def _cursor_row(screen: pyte.Screen) -> int | None:
    colours = {row: screen.buffer[row][12].bg for row in range(FIRST_ROW, LAST_ROW + 1)}
    plain = statistics.mode(colours.values())
    return next((row for row, colour in colours.items() if colour != plain), None)


def _latencies(
    presses: list[tuple[float, int]], moves: list[tuple[float, int]]
) -> tuple[float, ...]:
    """From each press to the first picture in which its row is reached or passed."""
    found = []
    for pressed, row in presses:
        shown = next((t for t, r in moves if t > pressed and r >= row), None)
        assert shown is not None, "a key was never seen on the screen"
        found.append(shown - pressed)
    return tuple(found)
