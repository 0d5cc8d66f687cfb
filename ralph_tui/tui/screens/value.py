"""One line to type a value in."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from ralph_tui.tui.render.hints import key_words
from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.screens.dialog import Dialog


class Value(Dialog[str | None]):
    """Returns what was typed."""

    def __init__(self, title: str, hint: str, value: str) -> None:
        """Begin with the value as it is."""
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """The value and what it is for."""
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(flat(self._title))
            frame.border_subtitle = key_words("enter keep it, esc leave it as it is")
            area = Input(self._value, compact=True, classes="value")
            area.cursor_blink = self.app.animation_level == "full"
            yield area
            yield Static(Content(flat(self._hint)), classes="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Done."""
        self.dismiss(event.value)
