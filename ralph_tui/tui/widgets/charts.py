"""Plots of costs and progress over the iterations.

Charts
└── Grid
    └── Chart (6)  drawn one after the other, those in sight only
"""

import asyncio
import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, count, groupby
from typing import NamedTuple

from textual import getters
from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.message import Message

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.terminal.private import size_plot
from ralph_tui.tui.widgets.styled import StyledWidget

POINTS = 400
"""Points of a plot, more than a wide terminal shows; of longer series, the highest of each stretch."""

FRAME = 3
"""Rows of the lines above and below a plot, and of its numbers."""

_ASCII = str.maketrans("─│┌┐└┘┤├┬┴┼", "-|+++++++++")
"""The signs of the frame."""

HALF = 0.35
"""Of a bar's width, where a bar and the gap to the next are 1."""

Series = tuple[tuple[float, ...], tuple[float, ...]]
"""Iterations, and the figure of each."""

Marks = list[tuple[float, str]]
"""Places on an axis, each with what is written there."""


class Measure(StrEnum):
    """What a chart counts."""

    MONEY = "US dollars"
    TOKENS = "tokens"
    SHARE = "percent"
    TIME = "seconds"
    TASKS = "tasks"


class Drawing(NamedTuple):
    """All that a chart's looks depend on; equal ones look the same."""

    series: Series
    measure: Measure
    width: int
    height: int
    unicode: bool


def drawn(drawing: Drawing) -> list[str]:
    """Return the chart as lines of text without colors."""
    (xs, ys), width, height = drawing.series, drawing.width, drawing.height
    from textual_plotext.plot import Plot  # nothing on the first paint is plotted

    plot = Plot()
    plot.plotsize(width, height)
    size_plot(plot, width, height)
    plot.theme("clear")
    marker = "hd" if drawing.unicode else "*"
    for across, up in _strokes(xs, ys, width // 3):
        plot.plot(across, up, marker=marker, fillx=True)
    plot.xlim(min(xs) - 0.5, max(xs) + 0.5)
    rows = max(2, height - FRAME)
    marks = heights(drawing.measure, max(0, *ys) or 1, max(2, min(6, (rows + 1) // 2)))
    # Each mark on a row of its own, all equally far from the next: the top is where that leads to.
    apart = max(1, (rows - 1) // (len(marks) - 1))
    plot.ylim(0, marks[1][0] * (rows - 1) / apart)
    plot.yticks([at for at, _ in marks], [text for _, text in marks])
    first, last = round(min(xs)), round(max(xs))
    numbers = iterations(first, last, max(2, min(10, width // (len(str(last)) + 4))))
    plot.xticks([float(number) for number in numbers], [str(number) for number in numbers])
    text = str(plot.uncolorize(plot.build()))
    lines = (text if drawing.unicode else text.translate(_ASCII)).splitlines()
    return [line.rstrip() for line in lines[:height]]


def _strokes(
    xs: Sequence[float], ys: Sequence[float], most: int
) -> list[tuple[list[float], list[float]]]:
    """Yield a bar for each iteration; too many of them are one line."""
    if len(xs) > most:
        return [(list(xs), list(ys))]
    return [([x - HALF, x + HALF], [y, y]) for x, y in zip(xs, ys, strict=True)]


def _steps(power: float) -> Iterator[float]:
    """Yield round steps from a power of ten on: 1, 2, 5, 10, 20 and so on."""
    return (power * 10**n * factor for n in count() for factor in (1, 2, 5))


def iterations(first: int, last: int, most: int) -> list[int]:
    """Return evenly spaced round numbers between the first and the last: two or more, at most so many."""
    steps = (int(step) for step in _steps(1))
    step = next(step for step in steps if last // step - (first - 1) // step <= most)
    return list(range(-(-first // step) * step, last + 1, step))


def even_ticks(top: float, most: int, *, whole: bool = False) -> list[float]:
    """Return even ticks from 0 to the first that is not below `top`; whole numbers where `whole`."""
    power = 10.0 ** math.floor(math.log10(top / max(1, most - 1)))
    steps = _steps(max(power, 1) if whole else power)
    step = next(step for step in steps if math.ceil(round(top / step, 9)) < most)
    return [round(step * n, 10) for n in range(math.ceil(round(top / step, 9)) + 1)]


def heights(measure: Measure, top: float, most: int) -> Marks:
    """Return even places from 0 to the first that is not below `top`, each with its unit."""
    unit, sign = _unit(measure, top)
    money = "$" if measure is Measure.MONEY else ""
    whole = measure is Measure.TASKS or (measure is Measure.TIME and unit > 1)
    ticks = even_ticks(top / unit, most, whole=whole)
    places = _places(ticks[1], measure)
    return [(tick * unit, f"{money}{tick:,.{places}f}{sign}" if tick else "0") for tick in ticks]


_UNITS = {
    Measure.TOKENS: ((1_000_000, "M"), (1_000, "k"), (1, "")),
    Measure.TIME: ((3600, "h"), (60, "m"), (1, "s")),
    Measure.SHARE: ((1, " %"),),
}


def _unit(measure: Measure, top: float) -> tuple[float, str]:
    """Return the unit of the axis and its sign."""
    units = _UNITS.get(measure, ((1, ""),))
    return next((unit for unit in units if top >= 2 * unit[0]), units[-1])


def _places(step: float, measure: Measure) -> int:
    """Return the decimals that tell one tick from the next; cents are two."""
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return max(2, places) if places and measure is Measure.MONEY else places


def thinned(xs: Sequence[float], ys: Sequence[float], most: int = POINTS) -> Series:
    """Return at most `most` points: the highest of each stretch, so that no peak is lost."""
    if len(ys) <= most:
        return tuple(xs), tuple(ys)
    step = -(-len(ys) // most)
    kept = [
        max(range(start, min(start + step, len(ys))), key=ys.__getitem__)
        for start in range(0, len(ys), step)
    ]
    return tuple(xs[i] for i in kept), tuple(ys[i] for i in kept)


class Chart(StyledWidget):
    """Shows one series; asks to be drawn once it is visible."""

    class Wanted(Message):
        """A visible chart is not drawn as it is now."""

        def __init__(self, chart: "Chart", drawing: Drawing) -> None:
            """Say which chart, and how to draw it."""
            super().__init__()
            self.chart = chart
            self.drawing = drawing

    def __init__(self, title: str, said: str, measure: Measure, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Name what it shows; `said` is shown in the lower border."""
        super().__init__(id=id, classes="chart")
        self._title = title
        self._said = said
        self._measure = measure
        self._series = thinned((), ())
        self._known = False
        self._wanted: Drawing | None = None
        self._drawing: Drawing | None = None
        self._lines: Sequence[str] = ()

    def on_mount(self) -> None:
        """Name the frame."""
        self.border_title = self._title
        self.border_subtitle = self._said

    def show(self, xs: Sequence[float], ys: Sequence[float], note: str = "") -> None:
        """Show these points; `note` is shown in the lower border."""
        self._series = thinned(xs, ys)
        self._known = True
        self.border_subtitle = Content(note or self._said)
        self.refresh()

    def take(self, drawing: Drawing, lines: Sequence[str]) -> None:
        """Show the finished drawing."""
        self._drawing, self._lines = drawing, lines
        self.refresh()

    def on_resize(self) -> None:
        """Ask for a drawing of the new size."""
        self.refresh()

    def render(self) -> Content:
        """Return the last drawing, unless it has another size."""
        width, height = self.content_size
        if width < 12 or height < 4:
            return self.content([])
        if not self._series[1]:
            said = "nothing to draw yet" if self._known else "reading"
            return self.content([[Span(said, Tone.MUTED)]])
        wanted = Drawing(self._series, self._measure, width, height, self.app.glyphs.unicode)
        if wanted not in (self._drawing, self._wanted):
            self._wanted = wanted
            self.post_message(self.Wanted(self, wanted))
        known = self._drawing
        fits = known is not None and (known.width, known.height) == (width, height)
        return self.content(map(_toned, self._lines if fits else ()))


def _toned(line: str) -> Line:
    pieces: Iterable[tuple[Tone, Iterable[str]]] = groupby(line, key=_tone_of)
    return [Span("".join(letters), tone) for tone, letters in pieces]


def _tone_of(letter: str) -> Tone:
    code = ord(letter)
    if 0x2580 <= code <= 0x259F or 0x2800 <= code <= 0x28FF or letter == "*":
        return Tone.INFO
    return Tone.FAINT if 0x2500 <= code <= 0x257F or letter in "-|+" else Tone.MUTED


class Charts(VerticalScroll):
    """Shows six charts; each is drawn in a thread."""

    app = getters.app(Host)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._wanted: dict[Chart, Drawing] = {}
        self._busy = False

    def compose(self) -> ComposeResult:
        """Yield rows of two or three."""
        with Grid(id="chart-grid"):
            yield Chart("cost per iteration", "US dollars", Measure.MONEY, id="cost")
            yield Chart("tokens per iteration", "without cached reads", Measure.TOKENS, id="tokens")
            yield Chart("context at the end", "of the window", Measure.SHARE, id="context")
            yield Chart("duration per iteration", "", Measure.TIME, id="duration")
            yield Chart("open tasks", "burn-down", Measure.TASKS, id="burndown")
            yield Chart("total cost", "US dollars", Measure.MONEY, id="spent")

    def show(self, iterations: Sequence[Iteration]) -> None:
        """Show what each iteration recorded."""
        done = [it for it in iterations if it.end]
        numbers = [float(it.number) for it in done]
        self._show("cost", numbers, [it.cost_usd for it in done])
        self._show("tokens", numbers, [float(it.tokens) for it in done])
        self._show("context", numbers, [it.percent for it in done])
        self._show("duration", numbers, [it.seconds for it in done])

    def show_sums(self, iterations: Sequence[Iteration], left: Forecast) -> None:
        """Show the sums over all iterations."""
        done = [it for it in iterations if it.end]
        note = left.basis if not (left.open_tasks and left.finished) else ""
        planned = [it for it in done if it.phase is Phase.BUILDING]
        burning = [float(it.number) for it in planned]
        self._show("burndown", burning, [float(it.open_tasks) for it in planned], note)
        spent = list(accumulate(it.cost_usd for it in done))
        self._show("spent", [float(it.number) for it in done], spent)

    def _show(self, name: str, xs: Sequence[float], ys: Sequence[float], note: str = "") -> None:
        self.query_one(f"#{name}", Chart).show(xs, ys, note)

    def on_chart_wanted(self, message: Chart.Wanted) -> None:
        """Draw one chart at a time, so that threads are left for the disk."""
        self._wanted[message.chart] = message.drawing
        if not self._busy:
            self._busy = True
            do(self, self._draw(), "charts")

    async def _draw(self) -> None:
        """Draw a chart in a thread; a bug in it is shown, and tried again the next time."""
        try:
            while self._wanted:
                chart = next(iter(self._wanted))
                drawing = self._wanted.pop(chart)
                chart.take(drawing, await asyncio.to_thread(drawn, drawing))
        finally:
            self._busy = False
