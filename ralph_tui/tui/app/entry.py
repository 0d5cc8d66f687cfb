"""Opens the screen, and prints afterwards what could not be printed while it was open."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import LoopFinished
from ralph_tui.engine.control.launch import Launch
from ralph_tui.store.feature_choice import layout_of, working_on
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.host.terminal_escapes import OLD_TITLE
from ralph_tui.tui.terminal.garbage_collection import swept_by_hand
from ralph_tui.tui.terminal.writer import quiet_stderr

if TYPE_CHECKING:
    from ralph_tui.domain.events import EventSink
    from ralph_tui.tui.terminal.splash import Splash


def run_app(launch: Launch, *, autostart: bool) -> int:
    """Open the screen on a launch, as `show` does; `autostart` begins the loop after the first paint."""
    return show(RalphApp(launch, autostart=autostart))


def show(app: RalphApp, splash: "Splash | None" = None) -> int:
    """Open the screen, over the splash if one is drawn, and return the loop's exit status, 0 when nothing ran."""
    if splash is not None:
        app.driver_class = splash.behind(app.driver_class)
    with (
        working_on(
            layout_of(app.launch.root).feature
        ),  # whatever is chosen or checked out elsewhere
        swept_by_hand(),
        quiet_stderr(
            redraw=lambda: _soon(app, app.refresh),
            hang_up=lambda: _soon(app, app.lifecycle.hang_up),
        ),
    ):
        code = app.run()
        if app.lifecycle.refresher.is_titled and not app.is_web and sys.__stderr__ is not None:
            # Written as Textual draws, so that a terminal that is gone is no trouble.
            sys.__stderr__.write(OLD_TITLE)
    if app.last_word:
        sys.stderr.write(f"ralph: {app.last_word}\n")
    else:
        _print_summary(app)
    return code if code is not None else app.return_code or 0


def _print_summary(app: RalphApp) -> None:
    """Say in the shell how the run that was watched here ended."""
    finished = app.bridge.own_ending
    if finished is None or app.is_web or app.lifecycle.is_hung_up:
        return
    from ralph_tui.present.events.run_result import exit_summary

    sys.stderr.write("ralph: " + "\n".join(exit_summary(app.view, finished)) + "\n")


def _soon(app: RalphApp, call: Callable[[], object]) -> None:
    """Call it on the app's event loop, from any thread."""
    app.call_later(call)


def open_replay(launch: Launch, wanted: str) -> None:
    """Open the screen on a past iteration and play it; nothing can be started from there.

    Args:
        launch: Which project; what it could run is taken away.
        wanted: As `Chronicle.find` has it.
    """
    app = RalphApp(looking_only(launch))
    app.lifecycle.when_begun = lambda: app.lifecycle.handlers.pages.open(
        "iterations", wanted=wanted, play=True
    )
    show(app)


def looking_only(launch: Launch) -> Launch:
    """Return the launch without anything that starts a run or imports something slow."""

    async def refuse(_: "EventSink") -> LoopFinished:
        message = "This is a replay, so nothing is started here."
        raise RalphError(message, "Open `ralph` in the project to run its loop.")

    return replace(
        launch, run=refuse, run_request=None, run_replan=None, importer=None, warm_up=lambda: None
    )
