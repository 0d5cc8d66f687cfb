"""Opens the pages; each is imported when it is first wanted, off the event loop."""

import asyncio
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ralph_tui.domain.errors import RalphError
from ralph_tui.tui.library import Library

if TYPE_CHECKING:
    from ralph_tui.domain.events import LoopFinished
    from ralph_tui.engine.launch import Launch
    from ralph_tui.engine.ports import EventSink
    from ralph_tui.tui.app import RalphApp


class Pages:
    """The pages of one app; at most one is open."""

    def __init__(self, app: "RalphApp") -> None:
        """Nothing is read or imported yet."""
        self._app = app
        self.library = Library(app.launch.root)

    async def open(self, name: str, **wanted: Any) -> None:
        """Open a page in the place of the one that is open."""
        module = await asyncio.to_thread(import_module, f"ralph_tui.tui.screens.{name}")
        from ralph_tui.tui.screens.page import Page

        page: Page = getattr(module, name.capitalize())(self.library, **wanted)
        if isinstance(self._app.screen, Page):
            if name == self._app.screen.NAME and not wanted:
                return
            self._app.switch_screen(page)
        else:
            self._app.push_screen(page)


def open_replay(launch: "Launch", wanted: str) -> None:
    """Open the screen on a past iteration and play it; nothing can be started from there.

    Args:
        launch: Which project; what it could run is taken away.
        wanted: As `Chronicle.find` has it.
    """
    from ralph_tui.tui.app import RalphApp
    from ralph_tui.tui.doing import do
    from ralph_tui.tui.opening import show

    class Replay(RalphApp):
        """The same screen, with the iterations open."""

        def on_ready(self) -> None:
            """After the first paint."""
            super().on_ready()
            opening = self.steering.pages.open("iterations", wanted=wanted, play=True)
            do(self, opening, "replay")

    show(Replay(looking_only(launch)))


def looking_only(launch: "Launch") -> "Launch":
    """A launch that starts nothing and imports nothing slow."""

    async def refuse(_: "EventSink") -> "LoopFinished":
        message = "This is a replay, so nothing is started here."
        raise RalphError(message, "Open `ralph` in the project to run its loop.")

    return replace(launch, run=refuse, run_request=None, warm_up=lambda: None)
