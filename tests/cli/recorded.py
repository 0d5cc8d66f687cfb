"""A launch that replays events instead of running a loop; also a program around it.

`python -m tests.cli.recorded KIND [--json]` runs it in line mode: `whole` replays a run, `patient` ends
when it is asked to stop at once, `deaf` never ends, `flood` prints until it is asked to stop, `broken`
cannot start, `buggy` has a defect.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.cli.run.headless import run_lines
from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import ExitCode, PlanError, RalphError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch

HOSTILE = "\x1b]52;c;eA==\x07\x1b]0;owned\x07\x1b[31m[/] [@click=app.quit]x[/]\u202e\x9b2Jlist[int]"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

ONE = Task(id="task-001", description="Write the parser")
TWO = Task(id="task-002", description="Test the parser", dependencies=("task-001",))


def whole_run() -> tuple[ev.Event, ...]:
    red = Receipt(
        command="uv run pytest",
        source="backpressure",
        status=ReceiptStatus.FAILED,
        exit_code=1,
        seconds=2.5,
        tail="1 failed",
    )
    green = red.model_copy(update={"status": ReceiptStatus.PASSED, "exit_code": 0})
    skipped = Receipt(
        command="uv run mypy .",
        source="backpressure",
        status=ReceiptStatus.SKIPPED,
        reason="mypy is not a dependency of the project",
    )
    events: tuple[ev.Event, ...] = (
        ev.LoopStarted(
            run_id="r", project="habits", phase=Phase.BUILDING, max_iterations=100, model="sonnet"
        ),
        ev.PlanLoaded(tasks=(ONE, TWO)),
        ev.IterationStarted(
            iteration=1,
            task_id=ONE.id,
            title=ONE.title,
            why="priority 1, the only task that is ready",
        ),
        ev.SessionStarted(session_id="s", model="claude-sonnet", cli_version="2.1.330"),
        ev.TextDelta(text="I will"),
        ev.AssistantText(text="I will\nread first."),
        ev.ToolStarted(tool_id="t1", name="Read", input={"file_path": "src/app.py"}),
        ev.ToolFinished(tool_id="t1", name="Read", outcome=ev.ToolOutcome.OK, seconds=0.1),
        ev.ToolStarted(tool_id="t2", name="Bash", input={"command": "git push"}),
        ev.ToolDenied(
            tool_id="t2",
            name="Bash",
            rule="git-write",
            part="git push",
            reason="git is read-only here",
            instead="Leave commits to the person.",
        ),
        ev.ToolFinished(tool_id="t2", name="Bash", outcome=ev.ToolOutcome.DENIED),
        ev.ToolStarted(tool_id="t3", name="Bash", input={"command": "pytest"}),
        ev.ToolRewritten(tool_id="t3", before="pytest", after="uv run pytest", rule="uv"),
        ev.ToolFinished(
            tool_id="t3",
            name="Bash",
            outcome=ev.ToolOutcome.ERROR,
            seconds=2.3,
            output="Exit code 1\nE assert 1 == 2",
        ),
        ev.UsageReported(
            context_tokens=41_200,
            context_capacity=200_000,
            usage=TokenUsage(input_tokens=41_200),
            costs=CostMeter(iteration=0.12, session=0.12, total=3.5),
        ),
        ev.GateStarted(task_id=ONE.id, commands=("uv run pytest", "uv run mypy .")),
        ev.GateChecked(task_id=ONE.id, receipt=red),
        ev.GateFinished(task_id=ONE.id, passed=False, receipts=(red,)),
        ev.GateStarted(task_id=ONE.id, commands=("uv run pytest", "uv run mypy .")),
        ev.GateChecked(task_id=ONE.id, receipt=green),
        ev.GateChecked(task_id=ONE.id, receipt=skipped),
        ev.GateFinished(task_id=ONE.id, passed=True, receipts=(green, skipped)),
        ev.TaskChanged(
            task=ONE.model_copy(update={"status": TaskStatus.COMPLETE}),
            reason="every check passed",
        ),
        ev.LearningRecorded(category="testing", text="use tmp_path"),
        ev.HandoffStarted(reason="the context is 62 % full", percent=62.0),
        ev.HandoffFinished(path="MEMORY.md"),
        ev.IterationFinished(
            iteration=1,
            task_id=ONE.id,
            outcome=ev.IterationOutcome.COMPLETE,
            reason="every check passed",
            cost_usd=0.12,
            context_tokens=41_200,
            seconds=12.34,
        ),
        ev.InjectionQueued(id="i1", text="use argparse"),
        ev.InjectionConsumed(ids=("i1",), iteration=2),
        ev.ApiRetry(attempt=1, max_attempts=10, delay_seconds=2, status=529, error="overloaded"),
        ev.TaskChanged(
            task=TWO.model_copy(update={"status": TaskStatus.BLOCKED}), reason="three attempts"
        ),
        ev.Notice(level="warning", text="state.json was set aside"),
        ev.LimitReached(
            kind="cost", value=200, limit=200, message="The project's limit is used up."
        ),
        ev.LoopPaused(),
        ev.LoopResumed(),
        ev.AgentFailed(failure=ev.FailureClass.NETWORK, message="No network.", hint="Check it."),
    )
    return tuple(e.model_copy(update={"seq": n, "time": NOON}) for n, e in enumerate(events, 1))


def finished(status: ev.LoopStatus, reason: str, exit_code: int) -> ev.LoopFinished:
    return ev.LoopFinished(
        status=status,
        reason=reason,
        exit_code=exit_code,
        iterations=2,
        tasks_complete=1,
        tasks_total=2,
        cost_usd=3.5,
        seconds=75,
        seq=99,
        time=NOON,
    )


COMPLETE = finished(ev.LoopStatus.COMPLETE, "Every task is complete.", 0)
STOPPED = finished(ev.LoopStatus.INTERRUPTED, "You asked it to stop.", 130)


TROUBLES: Mapping[str, Exception] = {
    "broken": PlanError("The plan has no tasks.", "Write some."),
    "buggy": LookupError("a defect"),
}


class RecordingControls(Controls):
    """Keeps what was asked instead of writing it."""

    def __init__(self, on_stop: Callable[[bool, str], None]) -> None:
        super().__init__(Path.cwd())
        self._on_stop = on_stop

    def stop(self, *, now: bool = False, why: str = "") -> StopMode:
        self._on_stop(now, why)
        return StopMode.NOW if now else StopMode.AFTER_ITERATION


def recorded_launch(kind: str) -> Launch:
    """A launch of one kind; see the module."""
    stopped = asyncio.Event()
    asked: list[bool | str] = []
    loops: list[asyncio.AbstractEventLoop] = []

    def on_stop(now: bool, why: str) -> None:
        asked.append(why or now)
        if kind == "deaf" or (kind == "patient" and not now):
            return
        loops[0].call_soon_threadsafe(stopped.set)

    async def run(sink: EventSink) -> ev.LoopFinished:
        loops.append(asyncio.get_running_loop())
        if kind in TROUBLES:
            raise TROUBLES[kind]
        for event in whole_run():
            sink(event)
        if kind == "whole":
            sink(COMPLETE)
            sink(ev.Notice(text="too late"))
            return COMPLETE
        if kind == "flood":
            while not stopped.is_set():
                sink(ev.Notice(text="x" * 200))
                await asyncio.sleep(0)
        await stopped.wait()
        return STOPPED.model_copy(update={"hint": f"Asked: {asked}."})

    async def watch(sink: EventSink) -> None:
        del sink

    return Launch(
        root=Path.cwd(),
        controls=RecordingControls(on_stop),
        run=run,
        watch=watch,
        warm_up=lambda: None,
    )


def _main(kind: str, *, as_json: bool) -> int:
    try:
        return run_lines(lambda: recorded_launch(kind), as_json=as_json)
    except RalphError as error:
        return int(error.exit_code)
    except KeyboardInterrupt:
        return int(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], as_json="--json" in sys.argv))
