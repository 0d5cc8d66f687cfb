"""One line over the iterations, drawn by plotext and coloured by the theme."""

import math
from collections.abc import Sequence
from itertools import groupby

from textual.content import Content
from textual_plotext.plot import Plot

from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.widgets.toned import Toned

POINTS = 400
"""More than a wide terminal can show; longer series are drawn as the highest of each stretch."""

HALF = 0.35
"""Of a bar's width, where a bar and the gap to the next are 1."""


class Chart(Toned):
    """Draws one series; says so when there is nothing to draw."""

    def __init__(self, title: str, unit: str, tone: Tone, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Name what it shows."""
        super().__init__(id=id, classes="chart")
        self._title = title
        self._unit = unit
        self._tone = tone
        self._xs: Sequence[float] = ()
        self._ys: Sequence[float] = ()
        self._known = False

    def on_mount(self) -> None:
        """Name the frame."""
        self.border_title = self._title
        self.border_subtitle = self._unit

    def show(self, xs: Sequence[float], ys: Sequence[float], note: str = "") -> None:
        """Draw these points; `note` stands in the lower border."""
        self._xs, self._ys = thinned(xs, ys)
        self._known = True
        self.border_subtitle = Content(note or self._unit)
        self.refresh()

    def on_resize(self) -> None:
        """A chart is as large as its frame."""
        self.refresh()

    def render(self) -> Content:
        """The chart, as lines of text."""
        width, height = self.content_size
        if width < 12 or height < 4:
            return self.content([])
        if not self._ys:
            said = "nothing to draw yet" if self._known else "reading"
            return self.content([[Span(said, Tone.MUTED)]])
        return self.content(self._toned(line) for line in self._drawn(width, height))

    def _drawn(self, width: int, height: int) -> list[str]:
        plot = Plot()
        plot.plotsize(width, height)
        plot._set_size(width, height)  # noqa: SLF001 - textual-plotext does it, too: its issue 5
        plot.theme("clear")
        marker = "hd" if self.app.glyphs.unicode else "*"
        for xs, ys in _strokes(self._xs, self._ys, width // 3):
            plot.plot(xs, ys, marker=marker, fillx=True)
        plot.xlim(min(self._xs) - 0.5, max(self._xs) + 0.5)
        top = max(self._ys)
        heights = even_ticks(top if top > 0 else 1, max(2, min(6, height // 2)))
        plot.ylim(0, max(top, heights[-1]))
        plot.yticks(heights, [f"{tick:,.10g}" for tick in heights])
        ticks = _ticks(self._xs, max(2, min(6, width // 14)))
        plot.xticks([float(tick) for tick in ticks], [str(tick) for tick in ticks])
        return [line.rstrip() for line in str(plot.uncolorize(plot.build())).splitlines()[:height]]

    def _toned(self, line: str) -> Line:
        pieces = groupby(line, key=self._tone_of)
        return [Span("".join(letters), tone) for tone, letters in pieces]

    def _tone_of(self, letter: str) -> Tone:
        code = ord(letter)
        if 0x2580 <= code <= 0x259F or 0x2800 <= code <= 0x28FF or letter == "*":
            return self._tone
        return Tone.FAINT if 0x2500 <= code <= 0x257F else Tone.MUTED


def _strokes(
    xs: Sequence[float], ys: Sequence[float], most: int
) -> list[tuple[list[float], list[float]]]:
    """A bar for each iteration, as there is nothing between two; too many of them are one line."""
    if len(xs) > most:
        return [(list(xs), list(ys))]
    return [([x - HALF, x + HALF], [y, y]) for x, y in zip(xs, ys, strict=True)]


def _ticks(xs: Sequence[float], most: int) -> list[int]:
    """Whole numbers, about evenly spread: half an iteration does not exist."""
    low, high = round(min(xs)), round(max(xs))
    step = max(1, round((high - low) / max(1, most - 1)))
    return list(range(low, high + 1, step))


def even_ticks(top: float, most: int) -> list[float]:
    """From 0 to the first that is not below `top`, in steps of 1, 2 or 5 that people count in."""
    power = 10.0 ** math.floor(math.log10(top / max(1, most - 1)))
    steps = (power * factor for factor in (1, 2, 5, 10, 20))
    step = next(step for step in steps if math.ceil(round(top / step, 9)) < most)
    return [round(step * n, 10) for n in range(math.ceil(round(top / step, 9)) + 1)]


def thinned(
    xs: Sequence[float], ys: Sequence[float], most: int = POINTS
) -> tuple[list[float], list[float]]:
    """At most `most` points: the highest of each stretch, so that no peak is lost."""
    if len(ys) <= most:
        return list(xs), list(ys)
    step = -(-len(ys) // most)
    kept = [
        max(range(start, min(start + step, len(ys))), key=ys.__getitem__)
        for start in range(0, len(ys), step)
    ]
    return [xs[i] for i in kept], [ys[i] for i in kept]
