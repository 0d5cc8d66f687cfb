"""A scrollbar that moves with every step of a stream, for a fraction of what Textual takes to draw it."""

from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

_UNKNOWN = Color.default()


class QuickBar(ScrollBar):
    """Textual's bar, whose equal cells are one object: what is made of it for the terminal is kept there."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """What Textual would draw: a bar has neither border nor padding nor effects."""
        bar = self.render()
        if not isinstance(bar, ScrollBarRender) or not isinstance(bar.style, Style):
            return super().render_lines(crop)
        drawn = bar.render_bar(
            size=self.outer_size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            thickness=bar.thickness,
            back_color=bar.style.bgcolor or _UNKNOWN,
            bar_color=bar.style.color or _UNKNOWN,
        )
        base = self.rich_style
        strips = [_one(segment, base) for segment in drawn.segments[crop.y : crop.bottom]]
        return as_seen(self, strips, crop)


def as_seen(widget: Widget, strips: list[Strip], crop: Region) -> list[Strip]:
    """Whole lines of a widget in the colours this terminal has, and what of them is asked for."""
    background = widget.background_colors[1]
    for line_filter in widget.get_line_filters():
        strips = [strip.apply_filter(line_filter, background) for strip in strips]
    if crop.column_span == (0, widget.outer_size.width):
        return strips
    return [strip.crop(*crop.column_span) for strip in strips]


@lru_cache(256)
def _one(segment: Segment, base: Style) -> Strip:
    return Strip(Segment.apply_style([segment], base))
