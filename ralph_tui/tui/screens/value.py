"""One line to type a value in."""

from collections.abc import Iterable

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.screens.dialog import Dialog


class Value(Dialog[str | None]):
    """Returns what was typed."""

    KEYS = "enter keep, esc leave it as it is"

    def __init__(self, title: str, hint: str, value: str) -> None:
        """Begin with the value as it is."""
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def framed(self) -> Iterable[Widget]:
        """The value and what it is for."""
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(flat(self._title))
            area = Input(self._value, compact=True, classes="value")
            area.cursor_blink = self.app.animation_level == "full"
            yield area
            yield Static(Content(flat(self._hint)), classes="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done."""
        self.dismiss(event.value)
