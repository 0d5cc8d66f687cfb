"""Shows a diff in several widgets, which are laid out one by one."""

from collections.abc import Iterator
from itertools import pairwise

from textual.geometry import Offset
from textual.selection import Selection

from ralph_tui.present.text.diffs import FOLD, GUTTER, Diff
from ralph_tui.present.text.spans import CHUNK_LINES, Line, fold, hang, plain, to_edge
from ralph_tui.tui.widgets.styled import WrappedText


def diff_views(diff: Diff, classes: str, *, first: int) -> Iterator["DiffView"]:
    """Return widgets that show a diff, one below the other.

    Args:
        first: Lines of the first widget, which is all that is visible at first.
    """
    most = len(diff.sides)
    for start, end in pairwise([0, *range(first, most, CHUNK_LINES), most]):
        yield DiffView(diff, range(start, end), classes if end == most else f"{classes} -goes-on")


class DiffView(WrappedText):
    """Shows some of the lines of a diff."""

    def __init__(self, diff: Diff, shown: range, classes: str) -> None:
        super().__init__(classes=classes)
        self._diff = diff
        self.shown = shown
        self._continued: dict[int, int] = {}
        """Rows that continue the line above, each with the length of the row above."""

    def lines_at(self, width: int) -> Iterator[Line]:
        self._continued.clear()
        glyphs, row = self.app.glyphs, 0
        for index in self.shown:
            line = self._diff.line(index, glyphs)
            is_fold = self._diff.sides[index].sign == FOLD
            rows = fold(line, width) if is_fold else hang(line, 2, width)
            for before, _ in pairwise(rows):
                row += 1
                self._continued[row] = len(plain(before))
            row += 1
            yield from (to_edge(line, width) for line in rows)

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
