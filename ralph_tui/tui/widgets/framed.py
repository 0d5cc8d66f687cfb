"""Lines that go to the terminal as they were made: scrolling a pane costs what moved, not what is in sight.

Textual keeps finished lines by their place in the widget, so one step of scrolling makes all of them anew,
with border, filters and escape sequences: about a millisecond for each. Here they are kept by what they show.
"""

from textual.cache import LRUCache
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

from ralph_tui.tui.widgets.scroll_bar import QuickBar

KEPT = 512
"""Lines, several screens of them."""


class Framed(ScrollView):
    """A scrolling view that keeps its lines between their edges."""

    _edges: tuple[Strip, Strip] | None = None

    def notify_style_update(self) -> None:
        """The border may have another colour now."""
        self._edges = None
        self._framed.clear()
        super().notify_style_update()

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._framed: LRUCache[int, tuple[Strip, Strip]] = LRUCache(KEPT)
        """Finished lines by the row they show, each with the content it was made of."""

    def content_line(self, y: int) -> Strip:
        """One line of the visible part, as wide as the content; the same object for the same line."""
        raise NotImplementedError

    def render_line(self, y: int) -> Strip:
        """The line, saying of each character where it stands: so the mouse selects text in it."""
        return self.content_line(y).apply_offsets(0, y + self.scroll_offset.y)

    def render_lines(self, crop: Region) -> list[Strip]:
        """What Textual would draw; it draws the rows of the frame and whatever has an effect on it."""
        if not self._is_plain:
            return super().render_lines(crop)
        top, bottom = self.styles.gutter.top, self.outer_size.height - self.styles.gutter.bottom
        strips = [
            self._line(y - top) if top <= y < bottom else self._row_of_frame(y)
            for y in crop.line_range
        ]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span == (0, self.outer_size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """Made when it is first asked for, as Textual does, but quick to draw."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = bar = QuickBar(
                vertical=True, name="vertical", thickness=self.scrollbar_size_vertical
            )
            bar.display = False
            self.app._start_widget(self, bar)  # noqa: SLF001 - as Textual does it; there is no other way in
        return self._vertical_scrollbar

    @property
    def _is_plain(self) -> bool:
        styles = self.styles
        return (
            self.opacity == styles.text_opacity == 1.0
            and not styles.tint.a
            and not styles.has_rule("hatch")
            and not any(kind for kind, _ in styles.outline)
        )

    def _row_of_frame(self, y: int) -> Strip:
        return super().render_lines(Region(0, y, self.outer_size.width, 1))[0]

    def _line(self, y: int) -> Strip:
        """One line of the content between its edges."""
        content, row = self.content_line(y), y + self.scroll_offset.y
        known = self._framed.get(row)
        if known is not None and known[0] is content:
            return known[1]
        strip = self._between_edges(content)
        self._framed[row] = (content, strip)
        return strip

    def _between_edges(self, content: Strip) -> Strip:
        if self._edges is None:
            gutter, width = self.styles.gutter, self.outer_size.width
            whole = self._row_of_frame(gutter.top)
            self._edges = whole.crop(0, gutter.left), whole.crop(width - gutter.right, width)
        return Strip.join([self._edges[0], content, self._edges[1]])
