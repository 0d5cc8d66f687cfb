"""A frame with text to read, scroll, search and copy: the base of details and help.

The visible part of a long text is mounted at once; the rest is added in pieces, between which keys are handled.
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
    """A text widget, and its minimum number of rows."""

    text: Widget
    rows: int = 1


_INDENT = Span("  ")


class PartsText(WrappedText):
    """Titled blocks; long lines wrap."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(classes="parts")
        self._parts = parts

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show other blocks, unless they are the same."""
        if parts != self._parts:
            self._parts = parts
            self.rewrap()

    def lines_at(self, width: int) -> Iterable[Line]:
        """Yield the lines of all blocks, each at most `width` cells wide."""
        for at, part in enumerate(self._parts):
            if at:
                yield []
            yield [Span(part.title, Tone.HEADING)]
            for line in part.lines:
                yield from ([_INDENT, *piece] for piece in fold(line, width - len(_INDENT.text)))


class TextReader(Dialog[None]):
    """A frame of titled blocks, or of other widgets that a subclass yields."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G,shift+g", "scroll('end')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("q,enter", "cancel", show=False),
    ]
    KEYS = "esc close, {search} search, {copy} copy, {share} export"
    STEM = "detail"

    _rest: Iterator[ReaderPart] = iter(())

    def reader_title(self) -> str:
        raise NotImplementedError

    def blocks(self) -> list[Part]:
        return []

    def parts(self) -> Iterable[ReaderPart]:
        yield ReaderPart(PartsText(self.blocks()))

    def compose_frame(self) -> Iterable[Widget]:
        with ScrollText(classes="dialog -large", id="reader") as frame:
            frame.border_title = Content(flat(self.reader_title()))
            self._rest = iter(self.parts())
            yield from self._visible_parts()

    def _visible_parts(self) -> Iterable[Widget]:
        left = self.app.size.height
        while left > 0 and (shown := next(self._rest, None)) is not None:
            left -= shown.rows
            yield shown.text

    def on_mount(self) -> None:
        """Focus the frame, so that arrow keys scroll, and start to add the rest."""
        reader = self.search_target()
        reader.focus()
        self.watch(reader, "show_vertical_scrollbar", self.update_footer, init=False)
        self.call_after_refresh(self._add_next)

    def footer_text(self) -> str:
        scrolls = "; j k scroll" if self.search_target().show_vertical_scrollbar else ""
        return f"{super().footer_text()}{scrolls}"

    async def _add_next(self) -> None:
        # Whatever screen is on top calls this, also one below while this one closes and its widgets go.
        if self.is_running and await self._add(1):
            self.call_after_refresh(self._add_next)

    async def _add(self, most: int | None) -> bool:
        frame = self.query_one("#reader", ScrollText)
        more = [shown.text for shown in islice(self._rest, most)]
        if more:
            await frame.mount(*more)
            if self.is_running:
                frame.repeat_search()
        return bool(more)

    async def action_scroll(self, where: str) -> None:
        """Scroll without animation; mount all texts before scrolling to the end."""
        if where == "end":
            await self._add(None)
        scroll = getattr(self.query_one("#reader", ScrollText), f"scroll_{where}")
        scroll(animate=False)

    def search_target(self) -> ScrollText:
        return self.query_one("#reader", ScrollText)

    def refresh_blocks(self) -> None:
        """Show the blocks as they are now, without scrolling."""
        if not self.is_attached:
            return
        if shown := self.query(PartsText):
            shown.first().show_parts(self.blocks())
        else:  # not mounted yet, but created from the blocks as they were
            self.call_after_refresh(self.refresh_blocks)

    def full_text(self) -> str:
        return parts_text(self.blocks())
