"""The palette's themes; the one that is chosen is kept in the settings."""

from collections.abc import Callable
from functools import partial

from textual.theme import ThemeProvider

from ralph_tui.tui.handlers.command_host import Owner
from ralph_tui.tui.host.workers import do


class KeptThemes(ThemeProvider):
    """Textual's list of themes with our way of choosing."""

    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        """A name, and what chooses it."""
        return [(name, partial(self._choose, name)) for name in sorted(self.app.available_themes)]

    def _choose(self, name: str) -> None:
        app: Owner = self.app  # type: ignore[assignment]  # Textual's provider knows any app
        app.theme = app.kept_theme = name
        do(app, app.keep_theme(name), "theme")
