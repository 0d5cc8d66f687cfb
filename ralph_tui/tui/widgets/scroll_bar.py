"""A scrollbar that moves with every step of a stream, for a fraction of what Textual takes to draw it."""

from functools import lru_cache

from rich.segment import Segment
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip


class QuickBar(ScrollBar):
    """Textual's bar, whose equal cells are one object: what is made of it for the terminal is kept there."""

    def render_lines(self, crop: Region) -> list[Strip]:
        """What Textual would draw: a bar has neither border nor padding nor effects."""
        strips = [_one(tuple(self.render_line(y))) for y in crop.line_range]
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span == (0, self.outer_size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]


@lru_cache(256)
def _one(segments: tuple[Segment, ...]) -> Strip:
    return Strip(segments)
