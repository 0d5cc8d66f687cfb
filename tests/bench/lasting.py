"""What a screen costs that is left open: processor time at rest, memory, a board of many tasks."""

import json
import statistics
import sys
import time
from pathlib import Path

import psutil

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.board.board_groups import Grouping
from tests.bench.keys import streaming
from tests.bench.ptys import PATIENCE, Recording, recording
from tests.bench.streaming import plan

WATCHED = 20.0
"""Seconds a screen at rest is watched."""

SETTLED = 3.0
"""Seconds a screen is given to load what it loads after its first paint."""

RATE = 5_000
JOURNEYS = 6
PAGES = 5
"""Half pages from the top; a board of 100 tasks has more than these."""

STEPS = 30

ROW = 150
"""Bytes that only a moved cursor needs."""

FRAME = 500
"""Bytes of output that only a page of tasks needs; the clock needs fewer."""


def rests(root: Path, what: bytes, *words: str) -> float:
    """Share of a core that an open screen takes while nothing happens."""
    with recording([sys.executable, *words], root) as record:
        record.wait_for(what)
        process = psutil.Process(record.child.pid)
        time.sleep(SETTLED)
        before, began = process.cpu_times(), time.monotonic()
        time.sleep(WATCHED)
        after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / (time.monotonic() - began)


def memory_over(events: int, tmp: Path) -> tuple[float, float]:
    """Bytes in memory when a fifth of the events are through, and at the end."""
    tmp.mkdir()
    report = tmp / "report.json"
    seconds = events / RATE
    with recording(streaming(RATE, seconds, tmp, report), tmp) as record:
        assert record.ended.wait(seconds * 3 + 60), "the app did not leave"
    figures = json.loads(report.read_text())
    return figures["early"], figures["late"]


def board_pages(tasks: int, tmp: Path) -> float:
    """Seconds from a key to the next half page of a board with so many tasks, the median."""
    tmp.mkdir()
    command = streaming(0, 10_000, tmp, tmp / "report.json", tasks)
    with recording(command, tmp, size=(120, 40)) as record:
        record.wait_for(b"task-08")
        record.child.send("1")
        time.sleep(SETTLED)
        return statistics.median(took for _ in range(JOURNEYS) for took in _journey(record))


LISTS = {"the board": "1", "the plan as a list": "vv"}
"""Which keys lead to a list with a line for each task."""


def steps(tasks: int, keys: str, tmp: Path) -> float:
    """Seconds from j to its paint in a list with so many tasks, the median."""
    tmp.mkdir()
    command = streaming(0, 10_000, tmp, tmp / "report.json", tasks)
    with recording(command, tmp, size=(120, 40)) as record:
        record.wait_for(b"task-08")
        time.sleep(SETTLED)
        for key in keys:
            record.child.send(key)
            time.sleep(SETTLED)
        return statistics.median(_answer(record, "j", ROW) for _ in range(STEPS))


def changes(tasks: int) -> float:
    """Processor seconds of 200 tasks that get on, folded and moved on the board of so many."""
    view = reduce(LoopView(), ev.PlanLoaded(tasks=plan(tasks)))
    board = Grouping(view.tasks)
    began = time.process_time()
    for task in list(view.tasks.values())[:100]:
        for status in (TaskStatus.IN_PROGRESS, TaskStatus.COMPLETE):
            changed = task.model_copy(update={"status": status})
            view = reduce(view, ev.TaskChanged(task=changed))
            board.follow(view.tasks)
    return time.process_time() - began


def _journey(record: Recording) -> list[float]:
    record.child.send("g")
    return [_page(record) for _ in range(PAGES)]


def _page(record: Recording) -> float:
    return _answer(record, "\x04", FRAME)


def _answer(record: Recording, key: str, size: int) -> float:
    """Seconds from a key until so many bytes came."""
    time.sleep(0.4)  # what the key before has to say is said
    seen, pressed = len(record.pieces), time.perf_counter()
    record.child.send(key)
    while sum(len(data) for _, data in record.pieces[seen:]) < size:
        time.sleep(0.001)
        assert time.perf_counter() - pressed < PATIENCE, "the board did not move"
    return record.pieces[-1][0] - pressed
