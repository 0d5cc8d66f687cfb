"""Lists of blocks that wrap: the options of a question, the tasks of a plan, a text to read."""

from collections.abc import Sequence

from textual.message import Message
from textual.strip import Strip

from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.widgets.row_list import Key, Row, RowList

MARK = 2
"""Cells for the glyph beside the selected block."""


class Blocks(RowList):
    """A list of blocks; draws only visible rows, and posts which block is under the cursor."""

    class Highlighted(Message):
        """Posted when another block is under the cursor."""

        def __init__(self, key: Key) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._blocks: Sequence[LineBlock] = ()
        self._rows: list[Row] = []
        self._lines: list[Sequence[Line]] = []
        """For each row, all lines of its block; a block is wrapped when it is first visible."""
        self._first: dict[Key, int] = {}
        self._last: dict[Key, int] = {}
        self._width = 0

    def show_blocks(self, blocks: Sequence[LineBlock], cursor: Key | None = None) -> None:
        """Show these blocks; the cursor moves to the given one, or stays."""
        before = list(self._first)
        self._blocks = blocks
        self._lay_out()
        wanted = self.cursor if cursor is None else cursor
        self.move_cursor(wanted if wanted in self._first else self._cursor_fallback(before))

    def _cursor_fallback(self, before: list[Key]) -> Key | None:
        """Return the block that has taken the cursor's place, or else the first."""
        now = list(self._first)
        if self.cursor is None and not self.preselects:
            return None
        if self.cursor in before and not self._first.keys().isdisjoint(before):
            return now[min(before.index(self.cursor), len(now) - 1)]
        return next(iter(now), None)

    def _lay_out(self) -> None:
        # Before it has a size: text wrapped to one cell would be visible for a moment.
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
        self.redraw_rows()

    def on_resize(self) -> None:
        if self.row_width != self._width:
            self._lay_out()
        self.move_cursor(self.cursor)

    def content_lines(self, ys: range) -> list[Strip]:
        if self.row_width != self._width:
            self._lay_out()
        return super().content_lines(ys)

    def row_count(self) -> int:
        return len(self._rows)

    def row_at(self, y: int) -> Row:
        return self._rows[y]

    def row_of(self, key: Key) -> int | None:
        return self._first.get(key)

    def row_line(self, y: int, width: int) -> Line:
        del width  # the lines are wrapped already
        key, part = self._rows[y]
        chosen = part == 0 and key is not None and key == self.cursor
        sign = self.app.glyphs.chevron if chosen else ""
        return [Span(sign.ljust(MARK), Tone.ACCENT), *self._lines[y][part]]

    def move_cursor(self, key: Key | None) -> None:
        """Select a block and scroll all of it into view; for the first one, scroll to the top."""
        self._strips.clear()
        if key == next(iter(self._first), None):
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        last = self._last.get(key)
        if last is not None:
            below = last - (self.scroll_offset.y + self.size.height - 1)
            if below > 0 and self.size.height:
                self.scroll_to(
                    y=self.scroll_offset.y + below, animate=False, force=True, immediate=True
                )
        super().move_cursor(key)
        if key is not None:
            self.post_message(self.Highlighted(key))

    def action_cursor(self, step: int) -> None:
        """Move to the next block; scroll first through a block that is taller than the list."""
        first, last = self._first.get(self.cursor), self._last.get(self.cursor)
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height - 1
        if self.cursor is None and not self.preselects:
            super().action_cursor(step)
        elif first is None or last is None or (last > bottom if step > 0 else first < top):
            self.scroll_relative(y=step, animate=False, force=True, immediate=True)
        else:
            super().action_cursor(step)

    def action_page(self, pages: float) -> None:
        """Move by pages; without selectable blocks, only scroll."""
        if self._first:
            super().action_page(pages)
        else:
            lines = int(pages * self.size.height)
            self.scroll_relative(y=lines, animate=False, force=True, immediate=True)
