"""A text to read: scrolls, is searched, shows where the words are."""

from collections.abc import Callable, Sequence

from textual.geometry import Region

from ralph_tui.tui.render.parts import Block
from ralph_tui.tui.render.spans import Line, Span, Tone, plain
from ralph_tui.tui.widgets.blocks import MARK, Blocks
from ralph_tui.tui.widgets.rows import Key


class TextView(Blocks):
    """Blocks whose words can be found."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._words = ""
        self._make: Callable[[int], Sequence[Block]] | None = None
        self._at = -1

    def show_made(self, make: Callable[[int], Sequence[Block]]) -> None:
        """Show what `make` makes of the width, now and whenever that changes."""
        self._make = make
        super().show_blocks(())

    def _lay_out(self) -> None:
        if self._make is not None:
            self._blocks = self._make(max(1, self.row_width - MARK))
        super()._lay_out()

    def show_blocks(self, blocks: Sequence[Block], cursor: Key | None = None) -> None:
        """Show these from the top, looking for the same words."""
        self._at = -1
        self._make = None
        super().show_blocks(blocks, cursor)

    def text(self) -> str:
        """Everything, as it was before it was folded to the width."""
        return "\n".join(plain(line).rstrip() for block in self._blocks for line in block.lines)

    def find(self, words: str) -> list[int]:
        """Rows that hold the words; they are marked."""
        self._words = words.casefold()
        self._at = -1
        self.forget_rows()
        if not words:
            return []
        return [
            y for y, (_, line) in enumerate(self._laid) if self._words in plain(line).casefold()
        ]

    def go_to(self, y: int) -> None:
        """Bring a row that was found into sight."""
        self._at = y
        self.forget_rows()
        middle = Region(0, max(0, y - self.size.height // 3), 1, self.size.height or 1)
        self.scroll_to_region(middle, animate=False, force=True, x_axis=False, immediate=True)

    def row_line(self, y: int, width: int) -> Line:
        """The line with its words marked, and a sign where the search stands."""
        line = list(super().row_line(y, width))
        if y == self._at:
            line[0] = Span(self.app.glyphs.arrow.ljust(2), Tone.WARN)
        if not self._words:
            return line
        return [piece for span in line for piece in _marked(span, self._words)]


def _marked(span: Span, words: str) -> list[Span]:
    """A span cut where the words are."""
    text, folded = span.text, span.text.casefold()
    if len(text) != len(folded):  # a letter that folds into two: then places do not match
        return [span]
    pieces: list[Span] = []
    at = 0
    while (found := folded.find(words, at)) >= 0:
        pieces += [
            Span(text[at:found], span.tone),
            Span(text[found : found + len(words)], Tone.WARN),
        ]
        at = found + len(words)
    return [piece for piece in (*pieces, Span(text[at:], span.tone)) if piece.text]
