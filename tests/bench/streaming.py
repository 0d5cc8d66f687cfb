"""The app fed with events at a rate: `python streaming.py RATE SECONDS ROOT REPORT TASKS`."""

import asyncio
import itertools
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.outcomes import LoopStatus, ToolOutcome
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.tui.app.app import RalphApp, show

TICK = 0.005

EARLY = 0.2
"""The share of the time after which the app has all that it keeps."""


def plan(count: int) -> tuple[Task, ...]:
    return tuple(
        Task(id=f"task-{n:02}", description=f"Piece of work {n}") for n in range(1, count + 1)
    )


def work() -> Iterator[ev.Event]:
    """What a busy agent says: text in pieces, then a tool call with output."""
    for number in itertools.count():
        for word in range(7):
            yield ev.TextDelta(text=f"word {word} of sentence {number}, ")
        yield ev.AssistantText(text=f"The whole of sentence {number}, seven words long.")
        tool = f"tool-{number}"
        yield ev.ToolStarted(tool_id=tool, name="Bash", input={"command": f"echo {number}"})
        yield ev.ToolFinished(
            tool_id=tool, name="Bash", outcome=ToolOutcome.OK, seconds=0.1, output="fine\n" * 5
        )


def main(rate: int, seconds: float, root: Path, report: Path, tasks: int) -> None:
    """Run the app; it leaves by itself, and the report says what it took."""
    figures: dict[str, float] = {}

    async def run(sink: EventSink) -> ev.LoopFinished:
        sink(ev.LoopStarted(run_id="bench", project="bench", phase=Phase.BUILDING))
        sink(ev.PlanLoaded(tasks=plan(tasks), source="start"))
        began, used, sent = time.monotonic(), _cpu(), 0
        early = 0.0
        stream = work()
        while (passed := time.monotonic() - began) < seconds:
            for event in itertools.islice(stream, int(passed * rate) - sent):
                sink(event)
            sent = max(sent, int(passed * rate))
            if not early and passed > EARLY * seconds:
                early = _memory()
            await asyncio.sleep(TICK)
        while app.bridge._queue:  # noqa: ASYNC110 - the app tells nobody when it has caught up
            await asyncio.sleep(TICK)
        passed = time.monotonic() - began
        figures.update(rate=sent / passed, cpu=(_cpu() - used) / passed)
        figures.update(early=early, late=_memory())
        app.exit(0)
        return ev.LoopFinished(status=LoopStatus.COMPLETE, reason="the time is over", exit_code=0)

    async def watch(_: EventSink) -> None:
        await asyncio.Event().wait()

    launch = Launch(root=root, controls=Controls(root), run=run, watch=watch, warm_up=lambda: None)
    app = RalphApp(launch, autostart=True)
    show(app)
    report.write_text(json.dumps(figures))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory() -> float:
    return float(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    rate_, seconds_, root_, report_, tasks_ = sys.argv[1:]
    main(int(rate_), float(seconds_), Path(root_), Path(report_), int(tasks_))
