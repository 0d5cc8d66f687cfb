"""Everything a face needs to run or watch the loop of one project."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.events import LoopFinished
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.ports import EventSink


@dataclass(frozen=True)
class Launch:
    """A project ready to run, wired by `cli` (a real key) or `demo` (the loopback model).

    Attributes:
        root: The project directory.
        controls: Pause, resume, stop, skip and inject; blocking calls, so run them in a thread.
        run: Runs the loop until it ends; events go to the sink on the caller's event loop. Raises
            `RalphError` only before anything was started; later problems end in `LoopFinished`.
        watch: Sends `plan_loaded` (and pending guidance) to the sink now and whenever the files
            change on disk, until cancelled; for a face that has no loop running.
        warm_up: Imports what is slow (the SDK); call it in a thread after first paint.
        run_request: Runs the whole way for a request typed on the screen, else like `run`.
        label: Shown beside the project's name, such as "demo".
    """

    root: Path
    controls: Controls
    run: Callable[[EventSink], Awaitable[LoopFinished]]
    watch: Callable[[EventSink], Awaitable[None]]
    warm_up: Callable[[], None]
    label: str = ""
    run_request: Callable[[str, EventSink], Awaitable[LoopFinished]] | None = None
