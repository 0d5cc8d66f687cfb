"""A text that is folded to its width, once for each: what is laid out is what is drawn."""

from collections.abc import Iterable

from textual.content import Content
from textual.geometry import Size

from ralph_tui.tui.render.spans import Line
from ralph_tui.tui.widgets.toned import Toned

USUAL = 60
"""Cells, while nothing has a place yet."""


class Folding(Toned):
    """Subclasses say their lines at a width."""

    _folded: tuple[int, Content] | None = None

    def lines_at(self, width: int) -> Iterable[Line]:
        """The lines, each at most so wide."""
        raise NotImplementedError

    def fold_again(self) -> None:
        """The text is another."""
        self._folded = None
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        """In other colours."""
        self._folded = None
        super().notify_style_update()

    def _at(self, width: int) -> Content:
        if self._folded is None or self._folded[0] != width:
            self._folded = width, self.content(self.lines_at(width))
        return self._folded[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Known before it has a place, so that it need not be laid out again once it has."""
        del container, viewport
        return self._at(width).get_height(self.styles.get_rules(), width)

    def render(self) -> Content:
        """All of it."""
        return self._at(self.content_size.width or USUAL)
