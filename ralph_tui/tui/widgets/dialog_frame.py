"""The frame of a dialog: as tall as its contents, and where they do not fit, what scrolls gives the rows."""

from textual.containers import Vertical
from textual.geometry import Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.widget import Widget

SCROLLS = "-scrolls"
"""The class of the children that scroll."""

LEAST = 3
"""Rows that a child which scrolls keeps."""


class FittedLayout(VerticalLayout):
    """Puts children below each other; those that scroll share what is missing.

    Textual has `1fr` for a frame of a fixed height and `auto` for one of its contents' height, and nothing
    that is the second up to the screen's height and the first from there on.
    """

    name = "fitted"

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],
        size: Size,
        greedy: bool = True,  # noqa: FBT001, FBT002 - as Textual declares it
    ) -> ArrangeResult:
        """Return the children's places; without a height, that is when Textual measures, nothing is taken."""
        placed = list(super().arrange(parent, children, size, greedy))
        flow = [p for p in placed if not p.overlay and not p.absolute and p.widget.display]
        if not size.height or not flow:
            return placed
        last = flow[-1]
        missing = last.region.bottom + last.margin.bottom - size.height
        return _shrunk(placed, missing) if missing > 0 else placed


def _shrunk(placed: list[WidgetPlacement], missing: int) -> list[WidgetPlacement]:
    """Take the missing rows from what scrolls, the tallest first, and move up what follows."""
    heights = {i: p.region.height for i, p in enumerate(placed) if p.widget.has_class(SCROLLS)}
    for _ in range(missing):
        tallest = max(heights, key=lambda i: heights[i], default=None)
        if tallest is None or heights[tallest] <= LEAST:
            break
        heights[tallest] -= 1
    taken, result = 0, []
    for i, p in enumerate(placed):
        height = heights.get(i, p.region.height)
        region = p.region.translate((0, -taken))
        result.append(p._replace(region=region.crop_size((region.width, height))))
        taken += p.region.height - height
    return result


class DialogFrame(Vertical):
    """A column of widgets in a border, of which those of the class `-scrolls` give way."""

    _fitted = FittedLayout()

    @property
    def layout(self) -> Layout:
        """Return the layout that lets children give way."""
        return self._fitted
