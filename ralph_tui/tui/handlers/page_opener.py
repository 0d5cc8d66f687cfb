"""Opens the pages; each is imported on first use, in a thread."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.theme.stylesheets import read_sheets

if TYPE_CHECKING:
    from ralph_tui.domain.features import FeatureFilter


class PageOpener:
    """Opens the pages of one app, one at a time."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self.library = JournalLibrary(
            app.launch.root,
            lambda: app.bridge.live,
            self._past,
        )

    def _past(self) -> "FeatureFilter | None":
        from ralph_tui.store.feature_folders import Features

        view = self._app.view
        return Features(self._app.launch.root).past(view.feature) if view.features else None

    async def open(self, name: str, **wanted: Any) -> None:
        """Open a page; it replaces a page that is open."""
        module = await asyncio.to_thread(import_module, f"ralph_tui.tui.screens.pages.{name}")
        from ralph_tui.tui.screens.pages.page import Page

        page: Page = getattr(module, f"{name.capitalize()}Page")(self.library, **wanted)
        read_sheets(self._app, page)
        if isinstance(self._app.screen, Page):
            if name == self._app.screen.NAME and not wanted:
                return
            self._app.switch_screen(page)
        else:
            self._app.push_screen(page)
