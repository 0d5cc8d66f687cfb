"""The screen that covers all others in a terminal that is too small."""

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
    return width < MIN_WIDTH or height < MIN_HEIGHT


class TooSmall(Screen[None]):
    """Shows which size is needed, and that the loop continues."""

    app = getters.app(Host)

    def compose(self) -> ComposeResult:
        yield Static(id="too-small")

    def on_mount(self) -> None:
        self.watch(self.app, "view", self.show, init=True)

    def on_resize(self) -> None:
        self.show()

    def show(self) -> None:
        look = look_of(self.app.view)
        size = self.app.size
        self.query_one(Static).update(
            Content(
                f"{getattr(self.app.glyphs, look.glyph)} {look.word}\n"
                f"This terminal is {size.width}x{size.height}.\n"
                f"ralph needs at least {MIN_WIDTH}x{MIN_HEIGHT}. 80x24 works best.\n"
                f"The loop is not affected. Press {self.app.keys.label('quit')} to quit."
            )
        )
