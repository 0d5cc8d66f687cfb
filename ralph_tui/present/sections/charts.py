"""Bars and bar charts in cells."""

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import count, groupby
from typing import NamedTuple

from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, width_of
from ralph_tui.present.text.status_labels import ZONE


def bar(share: float, width: int, tone: Tone, glyphs: Glyphs) -> list[Span]:
    """A share of one as filled cells; something above zero always shows."""
    share = min(1.0, max(0.0, share))
    filled = round(share * width)
    if share > 0:
        filled = max(1, filled)
    return [Span(glyphs.bar * filled, tone), Span(glyphs.bar_track * (width - filled), Tone.FAINT)]


def dots(count: float, threshold: float, glyphs: Glyphs, most: int = 10) -> list[Span]:
    """A counter as dots; numbers beyond `most` are left to the figures beside them."""
    size = min(most, int(threshold))
    filled = min(size, int(count))
    tone = Tone.MUTED if not filled else Tone.BAD if filled >= size else Tone.WARN
    return [Span(glyphs.dot * filled, tone), Span(glyphs.no_dot * (size - filled), Tone.FAINT)]


def level_tone(share: float) -> Tone:
    """How near a limit is."""
    return Tone.BAD if share >= 1 else Tone.WARN if share >= 0.8 else Tone.OK


def context_bar(
    budget: ContextBudget,
    zone: tuple[int, int],
    width: int,
    glyphs: Glyphs,
    past: Sequence[IterationFinished] = (),
) -> list[Line]:
    """The window's use over the smart zone; below it the marks, and the iterations before."""
    marks = (budget.budget_percent, budget.handoff_threshold_percent, budget.interrupt_percent)
    used = _cell(min(100.0, budget.percent), width)
    if budget.current_usage:
        used = max(1, used)
    low, high = _cell(zone[0], width), _cell(zone[1], width)
    tone = ZONE[budget.zone].tone
    cells = [
        Span(glyphs.full, tone)
        if x < used
        else Span(glyphs.zone, Tone.INFO)
        if low <= x < high
        else Span(glyphs.track, Tone.FAINT)
        for x in range(width)
    ]
    scale = _scale((zone[0], *marks), width, glyphs)
    room = len(scale) - len(scale.lstrip()) - 1
    before = spark(past, budget.total_capacity, room - len(_BEFORE), glyphs)
    if before:
        spans = [Span(_BEFORE, Tone.MUTED), *before]
        return [_joined(cells), [*spans, Span(scale[width_of(spans) :], Tone.MUTED)]]
    return [_joined(cells), [Span(scale, Tone.MUTED)]]


_BEFORE = "before "


def spark(
    past: Sequence[IterationFinished], capacity: int, width: int, glyphs: Glyphs
) -> list[Span]:
    """How full the context was at the end of each of the last iterations; a hand-off stands out."""
    shown = past[-width:] if width > 0 and capacity else ()
    top = len(glyphs.levels) - 1
    return [
        Span(
            glyphs.levels[min(top, it.context_tokens * len(glyphs.levels) // capacity)],
            Tone.WARN if it.handoff else Tone.INFO,
        )
        for it in shown
    ]


def _cell(percent: float, width: int) -> int:
    return min(width, round(percent * width / 100))


def _joined(cells: list[Span]) -> Line:
    groups = groupby(cells, key=lambda span: span.tone)
    return [Span("".join(span.text for span in spans), tone) for tone, spans in groups]


def _scale(marks: tuple[int, ...], width: int, glyphs: Glyphs) -> str:
    """Numbers under their places; one that would touch its neighbour is a tick only."""
    line = [" "] * width
    free_from = 0
    for mark in sorted(set(marks)):
        at = min(width - 1, _cell(mark, width))
        label = f"{glyphs.tick}{mark}"
        if at < free_from:
            continue
        if at + len(label) > width:
            label = glyphs.tick
        line[at : at + len(label)] = label
        free_from = at + len(label) + 1
    return "".join(line[:width])


POINTS = 400
"""More than a wide terminal can show; longer series are drawn as the highest of each stretch."""

FRAME = 3
"""Rows that the line above and below the plot and the numbers take."""

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
    """All that a chart's looks depend on; equal ones look alike."""

    series: Series
    measure: Measure
    width: int
    height: int
    unicode: bool


def drawn(drawing: Drawing) -> list[str]:
    """The chart as lines of text without colours."""
    (xs, ys), width, height = drawing.series, drawing.width, drawing.height
    from textual_plotext.plot import Plot  # nothing on the first paint is plotted

    plot = Plot()
    plot.plotsize(width, height)
    plot._set_size(width, height)  # noqa: SLF001 - textual-plotext does it, too: its issue 5
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
    """A bar for each iteration, as there is nothing between two; too many of them are one line."""
    if len(xs) > most:
        return [(list(xs), list(ys))]
    return [([x - HALF, x + HALF], [y, y]) for x, y in zip(xs, ys, strict=True)]


def _steps(power: float) -> Iterator[float]:
    """The steps that people count in, from a power of ten on: 1, 2, 5, 10, 20 and so on."""
    return (power * 10**n * factor for n in count() for factor in (1, 2, 5))


def iterations(first: int, last: int, most: int) -> list[int]:
    """At most so many round numbers, two or more, that stand evenly between the first and the last."""
    steps = (int(step) for step in _steps(1))
    step = next(step for step in steps if last // step - (first - 1) // step <= most)
    return list(range(-(-first // step) * step, last + 1, step))


def even_ticks(top: float, most: int, *, whole: bool = False) -> list[float]:
    """From 0 to the first that is not below `top`, in even steps; a `whole` one is not cut in parts."""
    power = 10.0 ** math.floor(math.log10(top / max(1, most - 1)))
    steps = _steps(max(power, 1) if whole else power)
    step = next(step for step in steps if math.ceil(round(top / step, 9)) < most)
    return [round(step * n, 10) for n in range(math.ceil(round(top / step, 9)) + 1)]


def heights(measure: Measure, top: float, most: int) -> Marks:
    """Even places from 0 to the first that is not below `top`, each with its unit."""
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
    """How much one on the axis is, and its sign; twice as much at least, or there was one number to write."""
    units = _UNITS.get(measure, ((1, ""),))
    return next((unit for unit in units if top >= 2 * unit[0]), units[-1])


def _places(step: float, measure: Measure) -> int:
    """Decimals that tell one tick from the next; cents are two."""
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    return max(2, places) if places and measure is Measure.MONEY else places


def thinned(xs: Sequence[float], ys: Sequence[float], most: int = POINTS) -> Series:
    """At most `most` points: the highest of each stretch, so that no peak is lost."""
    if len(ys) <= most:
        return tuple(xs), tuple(ys)
    step = -(-len(ys) // most)
    kept = [
        max(range(start, min(start + step, len(ys))), key=ys.__getitem__)
        for start in range(0, len(ys), step)
    ]
    return tuple(xs[i] for i in kept), tuple(ys[i] for i in kept)
