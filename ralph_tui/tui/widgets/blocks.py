"""Lists of blocks that wrap: options of a question, tasks of a plan, a text to read."""

from collections.abc import Sequence

from textual.message import Message
from textual.strip import Strip

from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.widgets.row_list import Key, Row, RowList

MARK = 2
"""Cells for the sign beside the chosen block."""


class Blocks(RowList):
    """A list of blocks; draws what is visible, and reports which block is under the cursor."""

    class Highlighted(Message):
        """Another block is under the cursor."""

        def __init__(self, key: Key) -> None:
            """Say which one."""
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._blocks: Sequence[LineBlock] = ()
        self._rows: list[Row] = []
        self._lines: list[Sequence[Line]] = []
        """For each row all lines of its block; a block is wrapped when it is first seen."""
        self._first: dict[Key, int] = {}
        self._last: dict[Key, int] = {}
        self._width = 0

    def show_blocks(self, blocks: Sequence[LineBlock], cursor: Key | None = None) -> None:
        """Show these blocks; the cursor goes to the given one, or stays."""
        before = list(self._first)
        self._blocks = blocks
        self._lay_out()
        wanted = self.cursor if cursor is None else cursor
        self.move_cursor(wanted if wanted in self._first else self._stand_in(before))

    def _stand_in(self, before: list[Key]) -> Key | None:
        """Return the block that is now where the cursor was; else the first."""
        now = list(self._first)
        if self.cursor in before and not self._first.keys().isdisjoint(before):
            return now[min(before.index(self.cursor), len(now) - 1)]
        return next(iter(now), None)

    def _lay_out(self) -> None:
        # Until it has a place of its own: wrapped to one cell, it would be seen so for a moment.
        self._width = self.row_width if self.size else self.app.size.width
        room = max(1, self._width - MARK)
        self._rows, self._lines, self._first, self._last = [], [], {}, {}
        for block in self._blocks:
            key, lines = block.key, block.folded(room).lines
            count = len(lines)
            if key is not None and count:
                self._first[key] = len(self._rows)
                self._last[key] = len(self._rows) + count - 1
            self._rows.extend((key, part) for part in range(count))
            self._lines.extend([lines] * count)
        self.resize_rows()
        self.forget_rows()

    def on_resize(self) -> None:
        """Wrap again when the width changed."""
        if self.row_width != self._width:
            self._lay_out()
        self.move_cursor(self.cursor)

    def content_lines(self, ys: range) -> list[Strip]:
        """Return lines wrapped to their width: Textual draws a new size before it reports it."""
        if self.row_width != self._width:
            self._lay_out()
        return super().content_lines(ys)

    def row_count(self) -> int:
        """Return the number of lines of all blocks."""
        return len(self._rows)

    def row_at(self, y: int) -> Row:
        """Return the block of a line."""
        return self._rows[y]

    def row_of(self, key: Key) -> int | None:
        """Return the first line of a block."""
        return self._first.get(key)

    def row_line(self, y: int, width: int) -> Line:
        """Return a line, with a sign when its block is chosen."""
        del width  # the lines are folded already
        key, part = self._rows[y]
        chosen = part == 0 and key is not None and key == self.cursor
        sign = self.app.glyphs.chevron if chosen else ""
        return [Span(sign.ljust(MARK), Tone.ACCENT), *self._lines[y][part]]

    def move_cursor(self, key: Key | None) -> None:
        """Choose a block and scroll to all of it; for the first, to the top."""
        self._strips.clear()
        if key == next(iter(self._first), None):
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        last = self._last.get(key)
        if last is not None:
            self._into_sight(last)
        super().move_cursor(key)
        if key is not None:
            self.post_message(self.Highlighted(key))

    def action_cursor(self, step: int) -> None:
        """Go to the next block; first scroll through one that is taller than the list."""
        first, last = self._first.get(self.cursor), self._last.get(self.cursor)
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height - 1
        if first is None or last is None or (last > bottom if step > 0 else first < top):
            self.scroll_relative(y=step, animate=False, force=True, immediate=True)
        else:
            super().action_cursor(step)

    def action_page(self, pages: float) -> None:
        """Move by pages; a text without choices only scrolls."""
        if self._first:
            super().action_page(pages)
        else:
            lines = int(pages * self.size.height)
            self.scroll_relative(y=lines, animate=False, force=True, immediate=True)

    def _into_sight(self, y: int) -> None:
        below = y - (self.scroll_offset.y + self.size.height - 1)
        if below > 0 and self.size.height:
            self.scroll_to(
                y=self.scroll_offset.y + below, animate=False, force=True, immediate=True
            )
