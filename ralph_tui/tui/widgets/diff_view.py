"""Shows a diff in one column or side by side, in several widgets that are laid out one by one."""

from collections.abc import Iterable, Iterator
from itertools import pairwise

from textual.geometry import Offset, Size
from textual.reactive import reactive
from textual.selection import Selection

from ralph_tui.present.text.diffs import FOLD, GUTTER, Diff
from ralph_tui.present.text.spans import (
    CHUNK_LINES,
    Line,
    Span,
    Tone,
    crop,
    fold,
    hang,
    plain,
    to_edge,
    width_of,
)
from ralph_tui.tui.widgets.styled import WrappedText


def diff_views(diff: Diff, classes: str, *, first: int, split: bool) -> Iterator["DiffView"]:
    """Return widgets that show a diff, one below the other.

    Args:
        first: Lines of the first widget, which is all that is visible at first.
    """
    most = max(len(diff.sides), len(diff.rows))
    for start, end in pairwise([0, *range(first, most, CHUNK_LINES), most]):
        of = classes if end == most else f"{classes} -goes-on"
        yield DiffView(diff, slice(start, end), of, split=split)


class DiffView(WrappedText):
    """Shows some of the lines of a diff."""

    split: reactive[bool] = reactive(bool, layout=True)
    """Whether the columns are side by side."""

    def __init__(self, diff: Diff, rows: slice, classes: str, *, split: bool) -> None:
        super().__init__(classes=classes)
        self.set_reactive(DiffView.split, split)
        self._diff, self._rows = diff, rows
        self._continued: dict[int, int] = {}
        """Rows that continue the line above, each with the length of the row above."""

    def watch_split(self) -> None:
        self.rewrap()

    @property
    def rows(self) -> int:
        return len((self._diff.rows if self.split else self._diff.sides)[self._rows])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return super().get_content_height(container, viewport, width) if self.rows else 0

    def lines_at(self, width: int) -> Iterable[Line]:
        self._continued.clear()
        return self._beside(width) if self.split else self._below(width)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text; the rows of a wrapped line are joined."""
        found = super().get_selection(selection)
        if found is None:
            return None
        start = selection.start or Offset()
        lines: list[str] = []
        for row, row_text in enumerate(found[0].split("\n"), start.y):
            before = start.x if row == start.y else 0
            text = row_text[: max(0, self._continued.get(row + 1, len(row_text) + before) - before)]
            if lines and row in self._continued:
                lines[-1] += text[GUTTER:]
            else:
                lines.append(text)
        return "\n".join(line.rstrip() for line in lines), found[1]

    def _below(self, width: int) -> Iterator[Line]:
        glyphs, row = self.app.glyphs, 0
        for index in range(len(self._diff.sides))[self._rows]:
            line = self._diff.line(index, glyphs)
            is_fold = self._diff.sides[index].sign == FOLD
            rows = fold(line, width) if is_fold else hang(line, 2, width)
            for before, _ in pairwise(rows):
                row += 1
                self._continued[row] = len(plain(before))
            row += 1
            yield from (to_edge(line, width) for line in rows)

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
            yield [*before, gap, Span(bar, Tone.FAINT), *to_edge(after, width - half - len(bar))]
