"""A scrolling column of texts that can be searched: details, help, the status panels."""

import re
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget

from ralph_tui.tui.widgets.search import Searchable


class TextPlace(NamedTuple):
    """A match: its text, the line before wrapping, and the range of characters."""

    text: Widget
    line: int
    start: int
    end: int


class ScrollText(VerticalScroll, Searchable):
    """Shows texts; a match is shown as a mouse selection, which every text widget can draw."""

    def lines_of(self, text: Widget) -> list[str]:
        shown = text.render()
        return shown.plain.split("\n") if isinstance(shown, Content) else []

    def find(self, words: str) -> Sequence[TextPlace]:
        return list(self._places(re.compile(re.escape(words), re.IGNORECASE))) if words else ()

    def _places(self, words: re.Pattern[str]) -> Iterator[TextPlace]:
        for text in self.children:
            if text.display:
                for number, line in enumerate(self.lines_of(text)):
                    yield from (
                        TextPlace(text, number, m.start(), m.end()) for m in words.finditer(line)
                    )

    def go_to(self, place: Hashable) -> None:
        """Select a match, and scroll it to a third of the height."""
        if isinstance(place, TextPlace):
            start, end = Offset(place.start, place.line), Offset(place.end, place.line)
            self.screen.selections = {place.text: Selection(start, end)}
            y = self._row(place) - self.size.height // 3
            self.scroll_to(y=y, animate=False, force=True, immediate=True)

    def _row(self, place: TextPlace) -> int:
        text = place.text
        before = self.lines_of(text)[: place.line]
        before.append(self.lines_of(text)[place.line][: place.start])
        inside = Content("\n".join(before)).get_height(
            text.styles.get_rules(), text.content_size.width
        )
        return text.virtual_region.y + text.gutter.top + inside - 1

    def search(self, words: str) -> None:
        if self.words and self.is_attached:
            self.screen.clear_selection()
        super().search(words)
