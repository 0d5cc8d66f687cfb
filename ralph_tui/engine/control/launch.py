"""Describe everything a face needs to run or watch the loop of one project."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.domain.events import EventSink, LoopFinished, Notice
from ralph_tui.engine.control.controls import Controls

if TYPE_CHECKING:
    from ralph_tui.domain.plan.import_preview import ImportPreview


@dataclass(frozen=True)
class RemainingWork:
    """What a run in another process should do.

    Attributes:
        whole: It runs all phases, because of a request typed on the screen.
        replans: It only makes a new plan.
        request: What is new in it, or in the plan; empty to continue with the documents as they are.
        iterations: How many more, or None for as many as are configured.
        usd: How much more it may spend, or None for as much as is configured.
    """

    whole: bool = False
    replans: bool = False
    request: str = ""
    iterations: int | None = None
    usd: float | None = None


class AutoResponder(Protocol):
    """Answers the loop's questions until the person takes over, as the demo does."""

    @property
    def seconds_left(self) -> float | None:
        """Until it answers what is open; None when it will not."""
        ...

    def stand_back(self) -> None:
        """Leave the open questions to the person."""
        ...


class PlanImporter(Protocol):
    """Imports a plan of another tool: look first, then write exactly what was shown. Every call blocks."""

    def look(self, given: str) -> "ImportPreview":
        """Read a file, named relative to the project, and return what an import of it would do."""
        ...

    def write(self, shown: "ImportPreview") -> "ImportPreview":
        """Write what was shown, unless the plan has changed since."""
        ...


@dataclass(frozen=True)
class Launch:
    """A project ready to run, wired by `cli` (a real key) or `demo` (the loopback model).

    Attributes:
        root: The project directory.
        controls: Pause, resume, stop, skip and inject; blocking calls, so run them in a thread.
        run: Runs the loop until it ends; events go to the sink on the caller's event loop. Raises
            `RalphError` only before anything was started; later problems end in `LoopFinished`.
        watch: Tells the sink what happens in the project until cancelled, for a face that has no loop
            running: changes of its files, and the loop of another process from its start to its end.
        warm_up: Imports what is slow (the SDK); call it in a thread after first paint.
        run_request: Runs the whole way for a request typed on the screen, or, when that is empty, from
            where the project is; else like `run`.
        run_replan: Makes a new plan with the person's feedback, and ends; else like `run`.
        go_on: Starts a process without a screen that continues the loop, and returns its process id
            once it owns it; blocks. Raises `RalphError` when it does not come to that. None where
            the loop cannot leave this process.
        screen: How the screen looks and calls.
        label: Shown beside the project's name, such as "demo".
        auto_responder: Answers in the person's place until the person takes over; or None.
        readiness: What a person should know before they start anything; blocks for a second. Or None.
        importer: Makes what imports a plan of another tool; blocks for its imports. Or None.
    """

    root: Path
    controls: Controls
    run: Callable[[EventSink], Awaitable[LoopFinished]]
    watch: Callable[[EventSink], Awaitable[None]]
    warm_up: Callable[[], None]
    label: str = ""
    run_request: Callable[[str, EventSink], Awaitable[LoopFinished]] | None = None
    run_replan: Callable[[str, EventSink], Awaitable[LoopFinished]] | None = None
    go_on: Callable[[RemainingWork], int] | None = None
    screen: ScreenSettings = field(default_factory=ScreenSettings)
    auto_responder: AutoResponder | None = None
    readiness: Callable[[], Iterable[Notice]] | None = None
    importer: Callable[[], PlanImporter] | None = None
