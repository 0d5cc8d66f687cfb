"""The frame of a dialog: as tall as its contents; if they do not fit, its scrolling children shrink."""

from textual.containers import Vertical
from textual.geometry import Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.layouts.vertical import VerticalLayout
from textual.widget import Widget

SCROLLS = "-scrolls"
"""The class of the children that scroll."""

MIN_ROWS = 3
"""Minimum number of rows of a scrolling child."""


class FittedLayout(VerticalLayout):
    """Stacks children vertically; those that scroll shrink if there is not enough room.

    Textual has `1fr` for a frame of a fixed height and `auto` for one as tall as its contents, but nothing that is
    `auto` up to the screen's height and `1fr` beyond it.
    """

    name = "fitted"

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],
        size: Size,
        greedy: bool = True,  # noqa: FBT001, FBT002 - as Textual declares it
    ) -> ArrangeResult:
        """Return the children's places; without a height, which means that Textual measures, no child shrinks."""
        placed = list(super().arrange(parent, children, size, greedy))
        flow = [p for p in placed if not p.overlay and not p.absolute and p.widget.display]
        if not size.height or not flow:
            return placed
        last = flow[-1]
        missing = last.region.bottom + last.margin.bottom - size.height
        return _shrunk(placed, missing) if missing > 0 else placed


def _shrunk(placed: list[WidgetPlacement], missing: int) -> list[WidgetPlacement]:
    heights = {i: p.region.height for i, p in enumerate(placed) if p.widget.has_class(SCROLLS)}
    for _ in range(missing):
        tallest = max(heights, key=lambda i: heights[i], default=None)
        if tallest is None or heights[tallest] <= MIN_ROWS:
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
    """A bordered column of widgets, of which those of the class `-scrolls` shrink to fit."""

    _fitted = FittedLayout()

    @property
    def layout(self) -> Layout:
        return self._fitted
