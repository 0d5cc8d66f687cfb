"""Lists of rows drawn line by line: the base of board, stream and texts.

Only visible rows are rendered, however many there are; strips are cached until the row, the width or
the theme changes.
"""

from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from ralph_tui.present.text.spans import Line, Tone, flat, plain
from ralph_tui.tui.terminal.line_cache import CachedScrollView
from ralph_tui.tui.widgets.search import Searchable
from ralph_tui.tui.widgets.styled import StyledWidget, to_segments

Key = Hashable
Row = tuple[Key | None, int]
"""The item of a row (None if it cannot be selected), and the row's number within the item."""

GAP = 1
"""Cells between a row and the scrollbar."""


class RowList(StyledWidget, CachedScrollView, can_focus=True):
    """A scrolling list of rows with a cursor on items, text selection and vim keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "cursor(-1)", "Up", show=False),
        Binding("down,j", "cursor(1)", "Down", show=False),
        Binding("home,g", "edge(-1)", "First", show=False),
        Binding("end,G,shift+g", "edge(1)", "Last", show=False),
        Binding("ctrl+u", "page(-0.5)", "Half a page up", show=False),
        Binding("ctrl+d", "page(0.5)", "Half a page down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}

    class Clicked(Message):
        """Posted when an item was clicked once, also by the first click of a double click."""

        def __init__(self, view: "RowList", key: Key) -> None:
            super().__init__()
            self.view = view
            self.key = key

        @property
        def control(self) -> "RowList":
            return self.view

    class Opened(Clicked):
        """Posted when an item was opened by a double click."""

    class Moved(Message):
        """Posted when the cursor moves to another item."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self.cursor: Key | None = None
        self.preselects = True
        """Whether the cursor is on an item before a key or a click has put it there."""
        self._strips: LRUCache[Row, tuple[int, int, Strip]] = LRUCache(1024)
        """Cached strips, each with its row index and width."""
        self._style: Style | None = None
        self._styles_of_tones: dict[tuple[Tone, Color | None, Tone | None], Style] = {}

    # What a subclass must define.

    def row_count(self) -> int:
        raise NotImplementedError

    def row_at(self, y: int) -> Row:
        raise NotImplementedError

    def row_of(self, key: Key) -> int | None:
        raise NotImplementedError

    def row_line(self, y: int, width: int) -> Line:
        raise NotImplementedError

    # Drawing.

    @property
    def shows_cursor(self) -> bool:
        return self.has_focus

    @property
    def row_width(self) -> int:
        """The width of a row; room for the scrollbar and a gap is reserved, so that rows never move."""
        bar = 0 if self.show_vertical_scrollbar else self.styles.scrollbar_size_vertical
        return max(1, self.scrollable_content_region.width - bar - GAP)

    def resize_rows(self) -> None:
        """Update the scrollbar for the number of rows; lay the screen out only if that moves something.

        A layout also draws the list, so that every new row of the stream was drawn twice.
        """
        size = Size(self.row_width, self.row_count())
        bar = size.height > self.container_size.height
        moves = bar != self.show_vertical_scrollbar or size.width != self.virtual_size.width
        if moves or self.styles.auto_dimensions:
            self.virtual_size = size
            return
        self.set_reactive(RowList.virtual_size, size)
        if bar:
            self.vertical_scrollbar.window_virtual_size = size.height
        self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def redraw_rows(self) -> None:
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Drop all cached lines, because the theme changed."""
        self._strips.clear()
        self._style = None
        self._styles_of_tones.clear()
        super().notify_style_update()

    def content_lines(self, ys: range) -> list[Strip]:
        """Return lines of the visible part.

        An unchanged line is the same object, because Textual caches its terminal output on it.
        """
        top, width, count = self.scroll_offset.y, self.size.width, self.row_count()
        chosen = self.cursor if self.shows_cursor else None
        is_marked = self.text_selection is not None
        strips = []
        for index in range(ys.start + top, ys.stop + top):
            if index >= count:
                strips.append(Strip.blank(width, self._base))
                continue
            row = self.row_at(index)
            is_chosen = row[0] is not None and row[0] == chosen
            if is_chosen or is_marked:
                strips.append(self._highlighted_strip(index, width, chosen=is_chosen))
            else:
                strips.append(self._cached_strip(row, index, width))
        return strips

    def _cached_strip(self, row: Row, index: int, width: int) -> Strip:
        known = self._strips.get(row)
        if known is not None and known[:2] == (index, width):
            return known[2]
        strip = self._rendered(index).extend_cell_length(width, self._base)
        if (
            row[0] is not None
        ):  # rows without an item, such as streamed text, may change at any time
            self._strips[row] = (index, width, strip)
        return strip

    @property
    def _base(self) -> Style:
        if self._style is None:
            self._style = self.rich_style
        return self._style

    def _rendered(self, index: int, background: Color | None = None) -> Strip:
        width = self.row_width
        line = self.adapted(self.row_line(index, width))
        return Strip(to_segments(line, partial(self._cell_style, background))).crop(0, width)

    def _cell_style(self, background: Color | None, tone: Tone, ground: Tone | None) -> Style:
        known = self._styles_of_tones.get((tone, background, ground))
        if known is None:
            known = self._base + self.tone_style(tone, background, ground)
            self._styles_of_tones[tone, background, ground] = known
        return known

    def _highlighted_strip(self, index: int, width: int, *, chosen: bool) -> Strip:
        cursor = self.get_component_styles("rows--cursor")
        behind = self.background_colors[1] + cursor.background if chosen else None
        strip = self._rendered(index, behind)
        if self.text_selection is not None:
            strip = self._with_selection(strip, index, self.text_selection)
        strip = strip.extend_cell_length(width, self._base)
        if behind is None:
            return strip
        over = Style(bgcolor=behind.rich_color)
        if behind.ansi is not None:
            over += Style(color=cursor.color.rich_color)  # ANSI colors come as a pair
        return Strip(Segment.apply_style(strip, post_style=over), strip.cell_length)

    def _with_selection(self, strip: Strip, index: int, selection: Selection) -> Strip:
        span = selection.get_span(index)
        if span is None:
            return strip
        text = strip.text
        start = cell_len(text[: span[0]])
        end = strip.cell_length if span[1] == -1 else cell_len(text[: span[1]])
        style = self.screen.get_component_rich_style("screen--selection")
        marked = strip.crop(start, end).apply_style(style)
        return Strip.join([strip.crop(0, start), marked, strip.crop(end)])

    # Selecting text with the mouse.

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        width = self.row_width
        rows = (self.row_line(y, width) for y in range(self.row_count()))
        return selection.extract("\n".join(flat(plain(row)) for row in rows)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        del selection  # each line reads the selection when it is drawn
        self.refresh()

    # The cursor.

    def move_cursor(self, key: Key | None) -> None:
        """Put the cursor on an item and scroll it into view."""
        self.cursor = key
        self.refresh()
        self.post_message(self.Moved())
        y = self.row_of(key) if key is not None else None
        if y is not None and self.size:  # nothing can be scrolled before the list has a size
            region = Region(0, y, 1, 1)
            self.scroll_to_region(region, animate=False, force=True, x_axis=False, immediate=True)

    def action_cursor(self, step: int) -> None:
        self.screen.clear_selection()
        y = self.row_of(self.cursor) if self.cursor is not None else None
        if y is None:
            below = min(self.row_count(), self.scroll_offset.y + self.size.height)
            y = self.scroll_offset.y - 1 if step > 0 else below
        key = self._next_key(y, step)
        if key is not None:
            self.move_cursor(key)

    def action_edge(self, direction: int) -> None:
        self.screen.clear_selection()
        ys = range(self.row_count()) if direction < 0 else reversed(range(self.row_count()))
        key = next((k for k, _ in map(self.row_at, ys) if k is not None), None)
        if key is not None:
            self.move_cursor(key)
        self.scroll_to(
            y=0 if direction < 0 else self.max_scroll_y, animate=False, force=True, immediate=True
        )

    def action_page(self, pages: float) -> None:
        """Move by pages, and to the first or last item at the ends."""
        self.screen.clear_selection()
        step = 1 if pages > 0 else -1
        y = self.row_of(self.cursor) if self.cursor is not None else None
        target = (self.scroll_offset.y if y is None else y) + int(pages * self.size.height)
        target = min(max(target, 0), self.row_count() - 1)
        key = self._next_key(target - step, step)
        if key is None:
            key = self._next_key(target + step, -step)
        if key is not None:
            self.move_cursor(key)

    def _next_key(self, y: int, step: int) -> Key | None:
        y += step
        while 0 <= y < self.row_count():
            key, part = self.row_at(y)
            if key is not None and key != self.cursor and (part == 0 or step < 0):
                return key
            y += step
        return None

    def on_click(self, event: events.Click) -> None:
        """Select with one click, open with two."""
        offset = event.get_content_offset(self)
        index = offset.y + self.scroll_offset.y if offset else -1
        if not 0 <= index < self.row_count():
            return
        key = self.row_at(index)[0]
        if key is None:
            return
        self.move_cursor(key)
        if event.chain <= 2:
            self.post_message((self.Clicked, self.Opened)[event.chain - 1](self, key))

    def on_focus(self) -> None:
        waits = self.cursor is not None or not self.preselects
        key = None if waits else self._next_key(self.scroll_offset.y - 1, 1)
        if key is not None:
            self.move_cursor(key)


class SearchableRows(RowList, Searchable):
    """A list whose items can be searched."""

    def keys_matching(self, words: str) -> Sequence[Key]:
        raise NotImplementedError

    def find(self, words: str) -> Sequence[Key]:
        return self.keys_matching(words) if words else ()

    def go_to(self, place: Hashable) -> None:
        self.move_cursor(place)

    @property
    def shows_cursor(self) -> bool:
        return self.has_focus or bool(self.words)

    def next_place(self, places: Sequence[Key], step: int) -> int:
        """Return the index of the match `step` matches from the cursor."""
        if self.cursor in places:
            return (places.index(self.cursor) + step) % len(places)
        here = self.row_of(self.cursor) if self.cursor is not None else None
        rows = (self.row_of(key) or 0 for key in places)
        after = next((i for i, row in enumerate(rows) if row >= (here or 0)), 0)
        return (after - 1) % len(places) if step < 0 else after
