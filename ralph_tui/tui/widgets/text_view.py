"""A text to read, which can be scrolled and searched; matches are marked."""

from collections.abc import Callable, Hashable, Sequence

from textual.geometry import Region

from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, plain
from ralph_tui.tui.widgets.blocks import MARK, Blocks
from ralph_tui.tui.widgets.row_list import Key
from ralph_tui.tui.widgets.search import Searchable


class TextView(Blocks, Searchable):
    """Blocks that can be searched; a match is a row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._make: Callable[[int], Sequence[LineBlock]] | None = None
        self._words: list[str] = []

    def show_made(
        self, make: Callable[[int], Sequence[LineBlock]], cursor: Key | None = None
    ) -> None:
        """Show the blocks that `make` returns for the width, now and whenever the width changes."""
        self._make = make
        super().show_blocks((), cursor)

    @property
    def room(self) -> int:
        return max(1, self.row_width - MARK)

    def _lay_out(self) -> None:
        if self._make is not None:
            self._blocks = self._make(self.room)
        self._words = []
        super()._lay_out()

    def show_blocks(self, blocks: Sequence[LineBlock], cursor: Key | None = None) -> None:
        self.current_match = None
        self._make = None
        super().show_blocks(blocks, cursor)

    def show_message(self, text: str, tone: Tone = Tone.MUTED) -> None:
        self.show_blocks([LineBlock(None, [[Span(text, tone)]])])

    def text(self) -> str:
        return "\n".join(plain(line).rstrip() for block in self._blocks for line in block.lines)

    def chosen_text(self) -> str:
        chosen = (b for b in self._blocks if b.key is not None and b.key == self.cursor)
        return "\n".join(plain(line).rstrip() for block in chosen for line in block.lines)

    def find(self, words: str) -> Sequence[int]:
        """Return the rows that contain the words, or in which words that wrap start."""
        self.redraw_rows()
        wanted = words.casefold()
        if not wanted:
            return ()
        rows = self._words_of_rows()
        return [y for y, row in enumerate(rows) if wanted in row or _spans_rows(rows, y, wanted)]

    def _words_of_rows(self) -> list[str]:
        """Return the searchable text of every row, cached because a search runs at every letter."""
        if not self._words:
            pairs = zip(self._rows, self._lines, strict=True)
            self._words = [plain(lines[row[1]]).strip().casefold() for row, lines in pairs]
        return self._words

    def next_place(self, places: Sequence[Hashable], step: int) -> int:
        """Return the next match after the current one, or after the cursor if it has moved since."""
        here = self.current_match if isinstance(self.current_match, int) else 0
        if self.cursor is not None and (not here or self.row_at(here)[0] != self.cursor):
            here = self.row_of(self.cursor) or 0
        elif here in places:
            return super().next_place(places, step)
        after = next((i for i, y in enumerate(places) if isinstance(y, int) and y >= here), 0)
        return (after - 1) % len(places) if step < 0 else after

    def go_to(self, place: Hashable) -> None:
        """Scroll to a match, with the cursor on its block."""
        if not isinstance(place, int):
            return
        key = self.row_at(place)[0]
        if key is not None and key != self.cursor:
            self.move_cursor(key)
        self.redraw_rows()
        middle = Region(0, max(0, place - self.size.height // 3), 1, self.size.height or 1)
        self.scroll_to_region(middle, animate=False, force=True, x_axis=False, immediate=True)

    def row_line(self, y: int, width: int) -> Line:
        """Return the line with its matches marked, and an arrow at the current one."""
        line = list(super().row_line(y, width))
        if y == self.current_match:
            line[0] = Span(self.app.glyphs.arrow.ljust(2), Tone.WARN)
        if not self.words:
            return line
        return [piece for span in line for piece in _marked(span, self.words.casefold())]


def _spans_rows(rows: Sequence[str], y: int, wanted: str) -> bool:
    if " " not in wanted or y + 1 >= len(rows):
        return False
    end, start = rows[y][1 - len(wanted) :], rows[y + 1][: len(wanted) - 1]
    return wanted in f"{end} {start}"


def _marked(span: Span, words: str) -> list[Span]:
    text, folded = span.text, span.text.casefold()
    if len(text) != len(folded):  # a letter folds into two, so positions do not match
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
