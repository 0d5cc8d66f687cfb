"""A frame with text to read, scroll and copy: details and help are made of it."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from ralph_tui.tui.doing import do
from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.saving import save
from ralph_tui.tui.screens.dialog import Dialog


class Reader(Dialog[None]):
    """Subclasses say the title and the widgets inside."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G,shift+g", "scroll('end')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("y", "copy", show=False),
        Binding("E", "export", show=False),
        Binding("q,enter", "cancel", show=False),
    ]
    KEYS = "j k scroll, y copies, E exports, esc closes"

    def reader_title(self) -> str:
        """The frame's title; may hold hostile text."""
        raise NotImplementedError

    def keys_said(self) -> str:
        """The keys that matter, for the lower border."""
        return self.KEYS

    def parts(self) -> Iterable[Widget]:
        """What is in the frame."""
        raise NotImplementedError

    def copy_text(self) -> str:
        """What `y` puts on the clipboard."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """The frame."""
        with VerticalScroll(classes="dialog -large", id="reader") as frame:
            frame.border_title = Content(flat(self.reader_title()))
            frame.border_subtitle = Content(self.keys_said())
            yield from self.parts()

    def on_mount(self) -> None:
        """Arrow keys scroll at once."""
        self.query_one("#reader").focus()

    def action_scroll(self, where: str) -> None:
        """Scroll without animation."""
        scroll = getattr(self.query_one("#reader", VerticalScroll), f"scroll_{where}")
        scroll(animate=False)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.app.copy_to_clipboard(self.copy_text())
        self.app.say("Copied.")

    def action_export(self) -> None:
        """Write the whole text to a file."""
        do(self, save(self.app, "detail", self.copy_text()), "export")
