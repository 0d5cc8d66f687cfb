"""Describe everything a user interface needs to run or watch the loop of one project."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.domain.events import EventSink, LoopFinished, Notice
from ralph_tui.domain.project_state import Adjusted
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest

if TYPE_CHECKING:
    from ralph_tui.domain.plan.import_preview import ImportPreview


class AutoResponder(Protocol):
    """Answers the loop's questions until the person takes over, as the demo does."""

    @property
    def seconds_left(self) -> float | None: ...

    def yield_to_person(self) -> None: ...


class PlanImporter(Protocol):
    """Imports a plan of another tool: previews the changes, then writes exactly those. Every call blocks."""

    def look(self, given: str) -> "ImportPreview": ...

    def write(self, shown: "ImportPreview") -> "ImportPreview": ...


@dataclass(frozen=True)
class Launch:
    """A project that is ready to run, assembled by `cli` (a real key) or `demo` (the loopback model).

    Attributes:
        controls: Controls the loop and changes the plan; its calls block, so run them in a thread.
        run: Runs the loop until it ends, and sends events to the sink on the caller's event loop. Raises
            `RalphError` only before anything was started; later problems are reported in `LoopFinished`.
        watch: Sends the events of the project to the sink until canceled, while this process runs no loop:
            changes of its files, and the loop of another process from its start to its end.
        warm_up: Imports slow modules (the SDK); call it in a thread after the first paint.
        run_request: Runs all phases for a request typed on the screen, or from the current phase if it is
            empty; otherwise like `run`.
        run_replan: Makes a new plan with the person's feedback; otherwise like `run`.
        continue_in_background: Starts a process without a screen for a request with the limits that are left, and
            returns its process id once it owns the loop. Blocks. None if the loop cannot leave this process.
        screen: The settings of the screen.
        label: Shown beside the project's name, such as "demo".
        auto_responder: Answers in the person's place until the person takes over, or None.
        readiness: Returns notices for the person before the first start, or None. Blocks for a second.
        importer: Makes an importer for plans of other tools, or None. Blocks while it imports modules.
    """

    root: Path
    controls: Controls
    run: Callable[[EventSink], Awaitable[LoopFinished]]
    watch: Callable[[EventSink], Awaitable[None]]
    warm_up: Callable[[], None]
    label: str = ""
    run_request: Callable[[str, EventSink], Awaitable[LoopFinished]] | None = None
    run_replan: Callable[[str, EventSink], Awaitable[LoopFinished]] | None = None
    continue_in_background: Callable[[RunRequest, Adjusted], int] | None = None
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    auto_responder: AutoResponder | None = None
    readiness: Callable[[], Iterable[Notice]] | None = None
    importer: Callable[[], PlanImporter] | None = None
