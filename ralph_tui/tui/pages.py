"""Opens the pages; each is imported when it is first wanted, off the event loop."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ralph_tui.domain.text import one_line
from ralph_tui.tui.library import Library

if TYPE_CHECKING:
    from ralph_tui.tui.app import RalphApp


class Pages:
    """The pages of one app; at most one is open."""

    def __init__(self, app: "RalphApp") -> None:
        """Nothing is read or imported yet."""
        self._app = app
        self.library = Library(app.launch.root)

    async def open(self, name: str, **wanted: Any) -> None:
        """Open a page in the place of the one that is open."""
        try:
            module = await asyncio.to_thread(import_module, f"ralph_tui.tui.screens.{name}")
        except Exception as error:  # noqa: BLE001 - one page that is broken must not close the screen
            text = f"{type(error).__name__}: {one_line(str(error))}"
            self._app.say(f"The page {name} cannot be opened: {text}", error=True)
            return
        from ralph_tui.tui.screens.page import Page

        page: Page = getattr(module, name.capitalize())(self.library, **wanted)
        if isinstance(self._app.screen, Page):
            if name == self._app.screen.NAME and not wanted:
                return
            self._app.switch_screen(page)
        else:
            self._app.push_screen(page)
