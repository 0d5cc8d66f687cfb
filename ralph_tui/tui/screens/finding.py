"""Textual's palette, with its keys at the foot like those of every dialog."""

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.command import CommandPalette, Provider, SearchIcon

from ralph_tui.tui.widgets.foot import Foot


class Palette(CommandPalette):
    """Finds commands by name, or what the providers it is given know."""

    def __init__(
        self,
        providers: Iterable[type[Provider]] | None = None,
        placeholder: str = "Search for commands",
    ) -> None:
        """With the app's providers, unless others are given."""
        super().__init__(
            providers=None if providers is None else list(providers), placeholder=placeholder
        )

    def compose(self) -> ComposeResult:
        """The keys below."""
        yield from super().compose()
        yield Foot()

    def on_mount(self) -> None:
        """The keys are always the same; Textual's sign is a picture that many fonts and plain ASCII lack."""
        self.query_one(SearchIcon).icon = "/"
        self.query_one(Foot).keys = "up down move, enter choose, esc close"
