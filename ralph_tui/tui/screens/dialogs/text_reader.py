"""A frame with text to read, scroll, search and copy: the base of details and help.

What is visible is there at once; the rest of a long text is added in pieces, between which keys are handled.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from ralph_tui.present.text.parts import Part, parts_text
from ralph_tui.present.text.spans import Line, Span, Tone, flat, fold
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.scroll_text import ScrollText
from ralph_tui.tui.widgets.styled import WrappedText


class ReaderPart(NamedTuple):
    """A text, and the least number of its rows."""

    text: Widget
    rows: int = 1


_INDENT = Span("  ")


class PartsText(WrappedText):
    """Blocks under their titles; long lines wrap."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Show these blocks."""
        super().__init__(classes="parts")
        self._parts = parts

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show other blocks, unless they are the same."""
        if parts != self._parts:
            self._parts = parts
            self.fold_again()

    def lines_at(self, width: int) -> Iterable[Line]:
        """Yield the blocks at this width."""
        for at, part in enumerate(self._parts):
            if at:
                yield []
            yield [Span(part.title, Tone.HEADING)]
            for line in part.lines:
                yield from ([_INDENT, *piece] for piece in fold(line, width - len(_INDENT.text)))


class TextReader(Dialog[None]):
    """A frame of titled blocks, or of other widgets; a subclass says which."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G,shift+g", "scroll('end')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("q,enter", "cancel", show=False),
    ]
    KEYS = "esc close, {search} search, {copy} copy, {share} export; j k scroll"
    STEM = "detail"

    _rest: Iterator[ReaderPart] = iter(())
    """Texts that are still to be added."""

    def reader_title(self) -> str:
        """Return the frame's title; it may hold hostile text."""
        raise NotImplementedError

    def blocks(self) -> list[Part]:
        """Return what there is to read, where it is titled blocks."""
        return []

    def parts(self) -> Iterable[ReaderPart]:
        """Make what is in the frame, from top to bottom; each is asked for when it is its turn."""
        yield ReaderPart(PartsText(self.blocks()))

    def framed(self) -> Iterable[Widget]:
        """Yield the frame."""
        with ScrollText(classes="dialog -large", id="reader") as frame:
            frame.border_title = Content(flat(self.reader_title()))
            self._rest = iter(self.parts())
            yield from self._in_sight()

    def _in_sight(self) -> Iterable[Widget]:
        left = self.app.size.height
        while left > 0 and (shown := next(self._rest, None)) is not None:
            left -= shown.rows
            yield shown.text

    def on_mount(self) -> None:
        """Focus the frame, so that arrow keys scroll, and add the rest."""
        self.query_one("#reader").focus()
        self.call_after_refresh(self._go_on)

    async def _go_on(self) -> None:
        if self.is_attached and await self._add(1):
            self.call_after_refresh(self._go_on)

    async def _add(self, most: int | None) -> bool:
        """Add so many more texts, or all; return whether there were any."""
        frame = self.query_one("#reader", ScrollText)
        more = [shown.text for shown in islice(self._rest, most)]
        if more:
            await frame.mount(*more)
            frame.look_again()
        return bool(more)

    async def action_scroll(self, where: str) -> None:
        """Scroll without animation; the end is the end of the whole text."""
        if where == "end":
            await self._add(None)
        scroll = getattr(self.query_one("#reader", ScrollText), f"scroll_{where}")
        scroll(animate=False)

    def searched_in(self) -> ScrollText:
        """Return the frame."""
        return self.query_one("#reader", ScrollText)

    def show_again(self) -> None:
        """Show the blocks as they are now, without scrolling."""
        if not self.is_attached:
            return
        if shown := self.query(PartsText):
            shown.first().show_parts(self.blocks())
        else:  # made already, with what was known then, and not yet in its frame
            self.call_after_refresh(self.show_again)

    def copied(self) -> str:
        """Return every block."""
        return parts_text(self.blocks())
