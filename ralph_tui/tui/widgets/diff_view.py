"""Shows a diff as one column or side by side, in pieces that are laid out one by one."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive

from ralph_tui.present.text.diffs import Diff
from ralph_tui.present.text.spans import CHUNK_LINES, Line, Span, Tone, crop, width_of
from ralph_tui.tui.widgets.styled import StyledWidget


def diff_views(diff: Diff, classes: str, *, first: int, split: bool) -> Iterator["DiffView"]:
    """Return widgets that show a diff, one below the other.

    Args:
        diff: The diff.
        classes: The classes of each widget.
        first: Lines of the first piece, which is all that is seen at first.
        split: Whether the columns are side by side.
    """
    most = max(len(diff.sides), len(diff.rows))
    for start, end in pairwise([0, *range(first, most, CHUNK_LINES), most]):
        of = classes if end == most else f"{classes} -goes-on"
        yield DiffView(diff, slice(start, end), of, split=split)


class DiffView(StyledWidget):
    """Shows some of the lines of a diff."""

    split: reactive[bool] = reactive(bool, layout=True)
    """Whether the columns are side by side."""

    def __init__(self, diff: Diff, rows: slice, classes: str, *, split: bool) -> None:
        """Show these rows of a diff."""
        super().__init__(classes=classes)
        self.set_reactive(DiffView.split, split)
        self._diff, self._rows = diff, rows
        self._drawn: tuple[object, Content] | None = None

    def notify_style_update(self) -> None:
        """Draw again in other colors."""
        self._drawn = None
        super().notify_style_update()

    @property
    def rows(self) -> int:
        """The least number of rows."""
        return len((self._diff.rows if self.split else self._diff.sides)[self._rows])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows; side by side, no line wraps."""
        if self.split or not self.rows:
            return self.rows
        return super().get_content_height(container, viewport, width)

    def render(self) -> Content:
        """Return all lines, made once for all that they depend on."""
        width = self.split and self.content_size.width
        known = (self.split, width, self._diff.is_colored)
        if self._drawn is None or self._drawn[0] != known:
            lines = self._beside(width) if self.split else self._below()
            self._drawn = known, self.content(lines)
        return self._drawn[1]

    def _below(self) -> Iterable[Line]:
        glyphs = self.app.glyphs
        return (self._diff.line(i, glyphs) for i in range(len(self._diff.sides))[self._rows])

    def _beside(self, width: int) -> Iterable[Line]:
        glyphs = self.app.glyphs
        bar = " │ " if glyphs.unicode else " | "
        half = max(1, (width - len(bar)) // 2)

        for row in self._diff.rows[self._rows]:
            before, after = (
                crop([] if index is None else self._diff.line(index, glyphs), half, glyphs.ellipsis)
                for index in row
            )
            gap = Span(" " * (half - width_of(before)))
            yield [*before, gap, Span(bar, Tone.FAINT), *after]
