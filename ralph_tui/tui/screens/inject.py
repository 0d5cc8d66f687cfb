"""Guidance for the next iteration, on as many lines as it takes."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from ralph_tui.tui.screens.dialog import Dialog


class Inject(Dialog[str]):
    """Returns the guidance; after Escape `draft` still has what was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "send", "Send", show=False, priority=True)
    ]

    def __init__(self, draft: str = "") -> None:
        """Begin with what was typed before."""
        super().__init__()
        self.draft = draft

    def compose(self) -> ComposeResult:
        """An editor and the keys."""
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content("guidance for the next iteration")
            frame.border_subtitle = Content("ctrl+s sends, esc keeps the draft")
            editor = TextArea(self.draft, id="guidance", show_line_numbers=False, soft_wrap=True)
            editor.cursor_blink = self.app.animation_level == "full"
            yield editor
            yield Static(
                Content("It goes into the prompt of the next iteration, once."), classes="hint"
            )

    def on_mount(self) -> None:
        """Type at once, where the draft ended."""
        editor = self.query_one(TextArea)
        editor.focus()
        editor.move_cursor(editor.document.end)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Nothing typed is ever lost."""
        self.draft = event.text_area.text

    def action_send(self) -> None:
        """Send, unless there is nothing to send."""
        if self.draft.strip():
            self.dismiss(self.draft.strip())
        else:
            self.app.say("Write some guidance first, or press esc to leave.")
