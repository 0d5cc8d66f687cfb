"""Plots of costs and progress over the iterations.

Charts
├── StyledLines    the legend
└── Grid
    └── Chart (6)
"""

import math
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, count
from typing import NamedTuple

from textual import getters
from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.content import Content

from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.formatting import plural, took
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.present.text.figures import limit, money, tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import Look
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.widgets.styled import StyledLines, StyledWidget

WIDEST = 9
"""Maximum number of cells of a bar and its gap, so that two bars do not fill half a screen."""

LABELED = 5
"""Minimum number of cells of a bar and its gap with a figure above the bar."""

FAR = 10
"""A threshold more than this many times the highest bar is named but not drawn, because it would flatten all bars."""

GUTTER = 9
"""Cells left of the bars, for the values of the axis and its line."""

Marks = list[tuple[float, str]]
"""Positions on an axis, each with its label."""

DONE = Look("ok", "done", Tone.OK)
REJECTED = Look("failed", "failed or rejected", Tone.BAD)
STOPPED = Look("pause", "stopped or handed off", Tone.WARN)

_STOPPED = (IterationOutcome.INTERRUPTED, IterationOutcome.HANDED_OFF, IterationOutcome.SKIPPED)

_BOX = str.maketrans("│┤└─┄", "|+`-.")
"""Translates the characters of axes and thresholds to ASCII."""

_ASCII_LEVELS = tuple("::::####")


class Measure(StrEnum):
    """What a chart counts."""

    MONEY = "US dollars"
    TOKENS = "tokens"
    SHARE = "percent"
    TIME = "seconds"
    TASKS = "tasks"


_WRITTEN: dict[Measure, Callable[[float], str]] = {
    Measure.MONEY: money,
    Measure.TOKENS: lambda value: tokens(round(value)),
    Measure.SHARE: lambda value: f"{value:.0f} %",
    Measure.TIME: took,
    Measure.TASKS: lambda value: f"{value:.0f}",
}


class Bar(NamedTuple):
    """The bar of one iteration."""

    number: int
    value: float
    look: Look | None = None
    """How the iteration ended; None if the value is a sum over several."""
    whole: float = 0.0
    """The whole that the value is a part of, whose rest is drawn faintly above; 0 for none or unknown."""


class Threshold(NamedTuple):
    """A named value, drawn as a line."""

    value: float
    name: str


class Plot(NamedTuple):
    """All that a chart shows."""

    measure: Measure
    bars: Sequence[Bar] = ()
    threshold: Threshold | None = None
    sums: bool = False
    """Whether a bar that merges iterations shows their last value, instead of their highest."""


# The drawing. Pure.


def draw(plot: Plot, width: int, height: int, glyphs: Glyphs) -> list[Line]:
    """Draw bars from an empty baseline, with the values of both axes."""
    line, across = drawn_threshold(plot), width - GUTTER
    bars = merged(plot, across)
    slot = max(1, min(WIDEST, across // len(bars)))
    grid = [[Span(" ")] * across for _ in range(height - 2)]
    written = slot >= LABELED  # figures above the bars, for which a line is reserved
    rows = len(grid) - written
    top = max(line.value if line else 0.0, *(max(bar.value, bar.whole) for bar in plot.bars))
    marks = _closest(plot.measure, top or 1, max(2, min(6, (rows + 1) // 2)))
    highest = marks[-1][0]
    for at, bar in enumerate(bars):
        _raise_bar(grid, bar, at * slot, max(1, slot - 1), rows / highest, glyphs)
    for at, bar in enumerate(bars if written else ()):
        _write_value(grid, bar, at * slot, slot, rows / highest, _WRITTEN[plot.measure])
    if line:
        _draw_threshold(grid, _level(line.value, rows / highest), line.name)
    labels = {_level(value, rows / highest): text for value, text in marks if value}
    lines: list[Line] = []
    for level in range(len(grid) - 1, -1, -1):
        label = labels.get(level, "")
        axis = Span(label.rjust(GUTTER - 2) + " ", Tone.MUTED)
        lines.append([axis, Span("┤" if label else "│", Tone.FAINT), *_joined(grid[level])])
    lines.append(_baseline(bars, slot, across, glyphs))
    lines.append([Span(" " * GUTTER + _numbers(plot, bars, slot, across), Tone.MUTED)])
    if glyphs.unicode:
        return lines
    return [[Span(text.translate(_BOX), tone) for text, tone in line] for line in lines]


def _closest(measure: Measure, top: float, most: int) -> Marks:
    """Return the axis marks that end closest above `top`, so that the bars get the most room."""
    choices = [heights(measure, top, n) for n in range(most, min(3, most) - 1, -1)]
    return min(choices, key=lambda marks: marks[-1][0])


def _level(value: float, scale: float) -> int:
    return math.ceil(round(value * scale, 9)) - 1


def drawn_threshold(plot: Plot) -> Threshold | None:
    """Return the threshold, or None if it is so far above the bars that they would all look the same."""
    if plot.threshold is None:
        return None
    highest = max((bar.value for bar in plot.bars), default=0.0)
    return plot.threshold if plot.threshold.value <= FAR * highest else None


def merged(plot: Plot, most: int) -> Sequence[Bar]:
    """Return at most `most` bars; each shows the highest or the last of equally many iterations."""
    step = -(-len(plot.bars) // most)
    if step == 1:
        return plot.bars
    stretches = (plot.bars[start : start + step] for start in range(0, len(plot.bars), step))
    return [
        stretch[-1] if plot.sums else max(stretch, key=lambda bar: bar.value)
        for stretch in stretches
    ]


def _raise_bar(
    grid: list[list[Span]], bar: Bar, left: int, width: int, scale: float, glyphs: Glyphs
) -> None:
    tone = bar.look.tone if bar.look else Tone.INFO
    signs = glyphs.levels if glyphs.unicode else _ASCII_LEVELS
    steps = math.ceil(round(bar.value * scale * len(signs), 9))
    whole = math.ceil(round(bar.whole * scale, 9))
    if whole:  # whole cells, so that there is no gap between the part and the rest
        most = whole if bar.value >= bar.whole else max(1, whole - 1)
        steps = len(signs) * min(most, max(round(bar.value * scale), 1)) if bar.value else 0
    for level in range(whole):
        grid[level][left : left + width] = [Span(glyphs.track, Tone.FAINT)] * width
    for level in range(-(-steps // len(signs))):
        full = min(len(signs), steps - level * len(signs))
        grid[level][left : left + width] = [Span(signs[full - 1], tone)] * width


def _write_value(
    grid: list[list[Span]],
    bar: Bar,
    left: int,
    slot: int,
    scale: float,
    written: Callable[[float], str],
) -> None:
    text = written(bar.value) + (f" of {bar.whole:.0f}" if bar.whole else "")
    level = math.ceil(round(max(bar.value, bar.whole) * scale, 9))
    if len(text) < slot:
        start = left + (slot - 1 - len(text)) // 2
        grid[level][start : start + len(text)] = [Span(letter, Tone.MUTED) for letter in text]


def _draw_threshold(grid: list[list[Span]], level: int, name: str) -> None:
    row = grid[level]
    row[:] = [Span("┄", Tone.ACCENT) if cell.text == " " else cell for cell in row]
    text = f" {name}"
    start = max(0, len(row) - len(text))
    for near in (row, *grid[level + 1 : level + 2], *grid[max(0, level - 1) : level]):
        if all(cell.text in " ┄" for cell in near[start:]):
            near[start:] = [Span(letter, Tone.ACCENT) for letter in text[-len(near) :]]
            return
    row[start:] = [Span(letter, Tone.ACCENT) for letter in text[-len(row) :]]


def _joined(cells: Sequence[Span]) -> Iterator[Span]:
    start = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at].tone is not cells[start].tone:
            yield Span("".join(cell.text for cell in cells[start:at]), cells[start].tone)
            start = at


def _baseline(bars: Sequence[Bar], slot: int, across: int, glyphs: Glyphs) -> Line:
    cells = [Span("─", Tone.FAINT)] * across
    for at, bar in enumerate(bars):
        if bar.look is not None:
            sign = Span(getattr(glyphs, bar.look.glyph), bar.look.tone)
            cells[at * slot + max(0, slot - 2) // 2] = sign
    return [Span("0".rjust(GUTTER - 2) + " ", Tone.MUTED), Span("└", Tone.FAINT), *_joined(cells)]


def _numbers(plot: Plot, bars: Sequence[Bar], slot: int, across: int) -> str:
    widest = max(len(str(bar.number)) for bar in bars)
    every = next(int(step) for step in _steps(1) if step * slot > widest)
    alone = len(bars) == len(plot.bars)
    text = ""
    for at, bar in enumerate(bars):
        number = str(bar.number)
        start = at * slot + max(0, max(0, slot - 2) // 2 - (len(number) - 1) // 2)
        wanted = at == 0 or (bar.number if alone else at) % every == 0
        if wanted and (not text or start > len(text)) and start + len(number) <= across:
            text = text.ljust(start) + number
    unit = "iteration"
    if (start := max(len(text) + 2, len(bars) * slot)) + len(unit) <= across:
        text = text.ljust(start) + unit
    return text


def _steps(power: float) -> Iterator[float]:
    return (power * 10**n * factor for n in count() for factor in (1, 2, 5))


def even_ticks(top: float, most: int, *, whole: bool = False) -> list[float]:
    """Return even ticks from 0 to the first that is not below `top`; only whole numbers if `whole`."""
    power = 10.0 ** math.floor(math.log10(top / max(1, most - 1)))
    steps = _steps(max(power, 1) if whole else power)
    step = next(step for step in steps if math.ceil(round(top / step, 9)) < most)
    return [round(step * n, 10) for n in range(math.ceil(round(top / step, 9)) + 1)]


def heights(measure: Measure, top: float, most: int) -> Marks:
    """Return labeled marks from 0 to the first that is not below `top`."""
    unit, sign = _unit(measure, top)
    money = "$" if measure is Measure.MONEY else ""
    whole = measure is Measure.TASKS or (measure is Measure.TIME and unit > 1)
    ticks = even_ticks(top / unit, most, whole=whole)
    places = _places(ticks[1], measure)
    return [(tick * unit, f"{money}{tick:,.{places}f}{sign}" if tick else "0") for tick in ticks]


_UNITS = {
    Measure.MONEY: ((1_000_000, "M"), (1_000, "k"), (1, "")),
    Measure.TOKENS: ((1_000_000, "M"), (1_000, "k"), (1, "")),
    Measure.TIME: ((3600, "h"), (60, "m"), (1, "s")),
    Measure.SHARE: ((1, " %"),),
}


def _unit(measure: Measure, top: float) -> tuple[float, str]:
    units = _UNITS.get(measure, ((1, ""),))
    return next((unit for unit in units if top >= 2 * unit[0]), units[-1])


def _places(step: float, measure: Measure) -> int:
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return max(2, places) if places and measure is Measure.MONEY else places


# The widgets.


class Chart(StyledWidget):
    """Shows one plot."""

    def __init__(self, title: str, unit: str, measure: Measure, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Create an empty chart; `unit` is shown in the lower border."""
        super().__init__(id=id, classes="chart")
        self._title = title
        self._unit = unit
        self._plot = Plot(measure)
        self._known = False
        self._note = ""

    def on_mount(self) -> None:
        self.border_title = self._title
        self._update_caption()

    def show(
        self,
        bars: Sequence[Bar],
        threshold: Threshold | None = None,
        note: str = "",
        *,
        sums: bool = False,
    ) -> None:
        """Show these bars.

        Args:
            note: A text for the lower border, beside the unit.
        """
        self._plot = Plot(self._plot.measure, bars, threshold, sums)
        self._known, self._note = True, note
        self._update_caption()
        self.refresh()

    def on_resize(self) -> None:
        self._update_caption()

    def _update_caption(self) -> None:
        plot, texts = self._plot, [self._unit]
        if plot.threshold and plot.bars and drawn_threshold(plot) is None:
            texts.append(f"{plot.threshold.name}: far above")
        across = self.content_size.width - GUTTER
        if across > 0 and (step := -(-len(plot.bars) // across)) > 1:
            texts.append(f"each bar shows the {'last' if plot.sums else 'highest'} of {step}")
        texts.append(self._note)
        self.border_subtitle = Content(", ".join(filter(None, texts)))

    def render(self) -> Content:
        width, height = self.content_size
        if width < 20 or height < 6:
            return self.content([])
        if not self._plot.bars:
            text = "no finished iterations yet" if self._known else "loading"
            return self.content([[Span(text, Tone.MUTED)]])
        return self.content(draw(self._plot, width, height, self.app.glyphs))


class Charts(VerticalScroll):
    """Shows six charts with a common legend."""

    app = getters.app(Host)

    def compose(self) -> ComposeResult:
        yield StyledLines([_legend(self.app.glyphs)], id="chart-legend")
        with Grid(id="chart-grid"):
            yield Chart("cost per iteration", "US dollars", Measure.MONEY, id="cost")
            yield Chart(
                "tokens per iteration", "excluding cached reads", Measure.TOKENS, id="tokens"
            )
            yield Chart("context at the end", "of the window", Measure.SHARE, id="context")
            yield Chart("duration per iteration", "", Measure.TIME, id="duration")
            yield Chart("open tasks (burn-down)", "", Measure.TASKS, id="burndown")
            yield Chart("cumulative cost", "US dollars", Measure.MONEY, id="spent")

    def show(
        self, iterations: Sequence[Iteration], limits: CostLimits, budget_percent: float
    ) -> None:
        """Show what each iteration recorded.

        Args:
            budget_percent: The share of the context at which a session hands off.
        """
        done = [it for it in iterations if it.end]
        looks = [outcome_look(it.outcome) for it in done]
        most = limits.per_iteration
        self._show("cost", done, looks, [it.cost_usd for it in done], _limit(most))
        self._show("tokens", done, looks, [float(it.tokens) for it in done])
        budget = Threshold(budget_percent, f"budget {budget_percent:.0f} %")
        self._show("context", done, looks, [it.percent for it in done], budget)
        self._show("duration", done, looks, [it.seconds for it in done])

    def show_sums(
        self, iterations: Sequence[Iteration], limits: CostLimits, left: Forecast
    ) -> None:
        done = [it for it in iterations if it.end]
        planned = [it for it in done if it.phase is Phase.BUILDING]
        unknown = sum(not it.total_tasks for it in planned)
        notes = (
            left.basis if planned and not (left.open_tasks and left.finished) else "",
            _growth([it.total_tasks for it in planned if it.total_tasks]),
            f"plan size unknown in {plural(unknown, 'iteration')}" if unknown else "",
        )
        bars = [Bar(it.number, float(it.open_tasks), whole=float(it.total_tasks)) for it in planned]
        self.query_one("#burndown", Chart).show(
            bars, None, ", ".join(filter(None, notes)), sums=True
        )
        spent = accumulate(it.cost_usd for it in done)
        bars = [Bar(it.number, total) for it, total in zip(done, spent, strict=True)]
        self.query_one("#spent", Chart).show(bars, _limit(limits.total), sums=True)

    def _show(
        self,
        name: str,
        done: Sequence[Iteration],
        looks: Sequence[Look],
        values: Sequence[float],
        threshold: Threshold | None = None,
    ) -> None:
        bars = [
            Bar(it.number, value, look) for it, value, look in zip(done, values, looks, strict=True)
        ]
        self.query_one(f"#{name}", Chart).show(bars, threshold)


def outcome_look(outcome: IterationOutcome | None) -> Look:
    if outcome is IterationOutcome.COMPLETE:
        return DONE
    return STOPPED if outcome is None or outcome in _STOPPED else REJECTED


def _growth(sizes: Sequence[int]) -> str:
    if not sizes or sizes[0] == sizes[-1]:
        return ""
    verb = "grew" if sizes[-1] > sizes[0] else "shrank"
    return f"plan {verb} from {sizes[0]} to {plural(sizes[-1], 'task')}"


def _limit(most: float) -> Threshold | None:
    return Threshold(most, f"limit {limit(most)}") if most else None


def _legend(glyphs: Glyphs) -> Line:
    signs = [
        Span(f"{getattr(glyphs, look.glyph)} {look.word}   ", look.tone)
        for look in (DONE, REJECTED, STOPPED)
    ]
    parts = (
        Span(f"{glyphs.full} open ", Tone.INFO),
        Span(f"{glyphs.track} complete", Tone.MUTED),
    )
    return [*signs, *parts]
