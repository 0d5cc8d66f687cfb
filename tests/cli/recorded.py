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
from ralph_tui.domain.errors import ExitCode, PlanError, RalphError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import StopMode
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch

HOSTILE = "\x1b]52;c;eA==\x07\x1b]0;owned\x07\x1b[31m[/] [@click=app.quit]x[/]\u202e\x9b2Jlist[int]"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def whole_run() -> tuple[ev.Event, ...]:
    lines = Path(__file__).with_name("whole_run.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(map(ev.EVENT.validate_json, lines))


def finished(status: LoopStatus, reason: str, exit_code: int) -> ev.LoopFinished:
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


COMPLETE = finished(LoopStatus.COMPLETE, "Every task is complete.", 0)
STOPPED = finished(LoopStatus.INTERRUPTED, "You asked it to stop.", 130)


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
