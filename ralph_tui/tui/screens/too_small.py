"""What is shown when the terminal has no room for anything useful."""

from textual import getters
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from ralph_tui.present.text.status_labels import look_of
from ralph_tui.tui.host.widget_host import Host

MIN_WIDTH = 60
MIN_HEIGHT = 16


def is_too_small(width: int, height: int) -> bool:
    """Whether the dashboard cannot be read at this size."""
    return width < MIN_WIDTH or height < MIN_HEIGHT


class TooSmall(Screen[None]):
    """Says what it needs and that the loop goes on."""

    app = getters.app(Host)

    def compose(self) -> ComposeResult:
        """A few short lines."""
        yield Static(id="too-small")

    def on_mount(self) -> None:
        """Keep the state word up to date."""
        self.watch(self.app, "view", self.show, init=True)

    def on_resize(self) -> None:
        """Say the size as it is now."""
        self.show()

    def show(self) -> None:
        """The loop's state, the size, and the size that is needed."""
        look = look_of(self.app.view)
        size = self.app.size
        self.query_one(Static).update(
            Content(
                f"{getattr(self.app.glyphs, look.glyph)} {look.word}\n"
                f"This terminal is {size.width}x{size.height}.\n"
                f"ralph needs {MIN_WIDTH}x{MIN_HEIGHT}; 80x24 is good.\n"
                f"The loop is not affected. {self.app.keys.label('quit')} quits."
            )
        )
