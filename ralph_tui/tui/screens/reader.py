"""A frame with text to read, scroll, search and copy: details and help are made of it."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.screens.dialog import Dialog
from ralph_tui.tui.widgets.prose import Prose


class Reader(Dialog[None]):
    """Subclasses say the title and the widgets inside."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G,shift+g", "scroll('end')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("q,enter", "cancel", show=False),
    ]
    KEYS = "esc close, {search} search, {copy} copy, {export} export; j k scroll"
    STEM = "detail"

    def reader_title(self) -> str:
        """The frame's title; may hold hostile text."""
        raise NotImplementedError

    def parts(self) -> Iterable[Widget]:
        """What is in the frame."""
        raise NotImplementedError

    def framed(self) -> Iterable[Widget]:
        """The frame."""
        with Prose(classes="dialog -large", id="reader") as frame:
            frame.border_title = Content(flat(self.reader_title()))
            yield from self.parts()

    def on_mount(self) -> None:
        """Arrow keys scroll at once."""
        self.query_one("#reader").focus()

    def action_scroll(self, where: str) -> None:
        """Scroll without animation."""
        scroll = getattr(self.query_one("#reader", Prose), f"scroll_{where}")
        scroll(animate=False)

    def searched_in(self) -> Prose:
        """All of it."""
        return self.query_one("#reader", Prose)
