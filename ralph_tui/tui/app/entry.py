"""Opens the screen, and prints after it closes what could not be printed while it was open."""

import sys
from typing import TYPE_CHECKING

from ralph_tui.store.feature_choice import layout_of, pinned_feature
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.host.widget_host import OLD_TITLE
from ralph_tui.tui.terminal.garbage_collection import manual_collection
from ralph_tui.tui.terminal.writer import quiet_stderr

if TYPE_CHECKING:
    from ralph_tui.tui.terminal.splash import Splash


def show(app: RalphApp, splash: "Splash | None" = None) -> int:
    """Open the screen, replacing the splash if there is one, and return the loop's exit status, or 0 if none ran."""
    if splash is not None:
        app.driver_class = splash.driver_over(app.driver_class)
    with (
        pinned_feature(
            layout_of(app.launch.root).feature
        ),  # even if another terminal chooses or checks out another feature
        manual_collection(),
        quiet_stderr(
            redraw=lambda: app.call_later(app.refresh),  # from the writer's thread
            hang_up=lambda: app.call_later(app.lifecycle.hang_up),
        ),
    ):
        code = app.run()
        if app.lifecycle.refresher.is_titled and not app.is_web and sys.__stderr__ is not None:
            # Through Textual's writer, which ignores a terminal that has closed.
            sys.__stderr__.write(OLD_TITLE)
    if app.exit_message:
        sys.stderr.write(f"ralph: {app.exit_message}\n")
    elif (finished := app.bridge.own_result) and not (app.is_web or app.lifecycle.is_hung_up):
        from ralph_tui.present.events.run_result import exit_summary

        sys.stderr.write("ralph: " + "\n".join(exit_summary(app.view, finished)) + "\n")
    return code if code is not None else app.return_code or 0
