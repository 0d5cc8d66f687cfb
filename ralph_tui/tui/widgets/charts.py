"""Plots of costs and progress over the iterations.

Charts
├── StyledLines    the legend
└── Grid
    └── Chart (6)
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
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

DONE = Look("ok", "done", Tone.OK)
REJECTED = Look("failed", "failed or rejected", Tone.BAD)
STOPPED = Look("pause", "stopped or handed off", Tone.WARN)

_STOPPED = (IterationOutcome.INTERRUPTED, IterationOutcome.HANDED_OFF, IterationOutcome.SKIPPED)

_ASCII_LEVELS = ":#"


class Bar(NamedTuple):
    """The bar of one iteration."""

    number: int
    value: float
    look: Look | None = None
    """How the iteration ended; None if the value is a sum over several."""


Written = Callable[[float], str]
"""Returns a value as the figure above its bar."""


def draw(
    bars: Sequence[Bar], written: Written, width: int, height: int, glyphs: Glyphs
) -> list[Line]:
    """Draw bars from zero, each with its figure above, and with its outcome and its number below."""
    slot = max(1, min(WIDEST, width // len(bars)))
    signs = glyphs.levels if glyphs.unicode else _ASCII_LEVELS
    rows = height - 2 - (slot >= LABELED)
    scale = rows * len(signs) / (max(bar.value for bar in bars) or 1)
    columns = [
        _column(bar, math.ceil(round(bar.value * scale, 9)), height - 2, signs, slot, written)
        for bar in bars
    ]
    lines: list[Line] = [
        [column[level] for column in columns] for level in range(height - 3, -1, -1)
    ]
    outcomes = [
        Span(_centered(getattr(glyphs, bar.look.glyph), slot), bar.look.tone)
        if bar.look
        else Span((glyphs.line * slot), Tone.FAINT)
        for bar in bars
    ]
    first, last = str(bars[0].number), str(bars[-1].number)
    if len(last) < slot:
        numbers = "".join(_centered(str(bar.number), slot) for bar in bars)
    else:
        numbers = first + last.rjust(len(bars) * slot - len(first)) if len(bars) > 1 else first
    return [*lines, outcomes, [Span(numbers[:width], Tone.MUTED)]]


def _column(
    bar: Bar, steps: int, rows: int, signs: Sequence[str], slot: int, written: Written
) -> list[Span]:
    """Return the cells of a bar from the bottom up."""
    tone = bar.look.tone if bar.look else Tone.INFO
    full, part = divmod(steps, len(signs))
    drawn = signs[-1] * full + (signs[part - 1] if part else "")
    cells = [Span((sign * max(1, slot - 1)).ljust(slot), tone) for sign in drawn]
    figure = written(bar.value) if slot >= LABELED else ""
    if 0 < len(figure) < slot:
        cells.append(Span(_centered(figure, slot), Tone.MUTED))
    return [*cells, *([Span(" " * slot)] * (rows - len(cells)))]


def _centered(text: str, slot: int) -> str:
    return text.center(slot - 1).ljust(slot)


def merged(bars: Sequence[Bar], most: int, *, sums: bool) -> Sequence[Bar]:
    """Return at most `most` bars; each shows the last (of sums) or the highest of equally many iterations."""
    step = -(-len(bars) // most)
    if step == 1:
        return bars
    stretches = (bars[start : start + step] for start in range(0, len(bars), step))
    return [s[-1] if sums else max(s, key=lambda bar: bar.value) for s in stretches]


class Chart(StyledWidget):
    """Shows one plot; the lower border has its highest value, its limit and notes."""

    def __init__(self, title: str, written: Written, *, id: str, sums: bool = False) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="chart")
        self._title = title
        self._written = written
        self._sums = sums
        self._bars: Sequence[Bar] | None = None
        self._notes: tuple[str, ...] = ()

    def on_mount(self) -> None:
        self.border_title = self._title

    def show(self, bars: Sequence[Bar], *notes: str) -> None:
        self._bars, self._notes = bars, notes
        self._update_caption()
        self.refresh()

    def on_resize(self) -> None:
        self._update_caption()

    def _update_caption(self) -> None:
        texts = list(self._notes)
        if self._bars:
            texts.insert(0, f"highest {self._written(max(bar.value for bar in self._bars))}")
            if (step := -(-len(self._bars) // max(1, self.content_size.width))) > 1:
                shown = "last" if self._sums else "highest"
                texts.append(f"each bar shows the {shown} of {step}")
        self.border_subtitle = Content(", ".join(filter(None, texts)))

    def render(self) -> Content:
        width, height = self.content_size
        if width < 20 or height < 6:
            return self.content([])
        if not self._bars:
            text = "loading" if self._bars is None else "no finished iterations yet"
            return self.content([[Span(text, Tone.MUTED)]])
        bars = merged(self._bars, width, sums=self._sums)
        return self.content(draw(bars, self._written, width, height, self.app.glyphs))


class Charts(VerticalScroll):
    """Shows six charts with a common legend."""

    app = getters.app(Host)

    def compose(self) -> ComposeResult:
        yield StyledLines([_legend(self.app.glyphs)], id="chart-legend")
        with Grid(id="chart-grid"):
            yield Chart("cost per iteration", money, id="cost")
            yield Chart("tokens per iteration", lambda value: tokens(round(value)), id="tokens")
            yield Chart("context at the end", lambda value: f"{value:.0f} %", id="context")
            yield Chart("duration per iteration", took, id="duration")
            yield Chart(
                "open tasks (burn-down)", lambda value: f"{value:.0f}", id="burndown", sums=True
            )
            yield Chart("cumulative cost", money, id="spent", sums=True)

    def show(
        self, iterations: Sequence[Iteration], limits: CostLimits, budget_percent: float
    ) -> None:
        """Show what each iteration recorded.

        Args:
            budget_percent: The share of the context at which a session hands off.
        """
        done = [it for it in iterations if it.end]
        looks = [outcome_look(it.outcome) for it in done]
        figures = {
            "cost": ([it.cost_usd for it in done], _limit(limits.per_iteration)),
            "tokens": ([float(it.tokens) for it in done], "excluding cached reads"),
            "context": ([it.percent for it in done], f"budget {budget_percent:.0f} %"),
            "duration": ([it.seconds for it in done], ""),
        }
        for name, (values, note) in figures.items():
            pairs = zip(done, values, looks, strict=True)
            bars = [Bar(it.number, value, look) for it, value, look in pairs]
            self.query_one(f"#{name}", Chart).show(bars, note)

    def show_sums(
        self, iterations: Sequence[Iteration], limits: CostLimits, left: Forecast
    ) -> None:
        done = [it for it in iterations if it.end]
        planned = [it for it in done if it.phase is Phase.BUILDING]
        unknown = sum(not it.total_tasks for it in planned)
        self.query_one("#burndown", Chart).show(
            [Bar(it.number, float(it.open_tasks)) for it in planned],
            left.basis if planned and not (left.open_tasks and left.finished) else "",
            _growth([it.total_tasks for it in planned if it.total_tasks]),
            f"plan size unknown in {plural(unknown, 'iteration')}" if unknown else "",
        )
        spent = accumulate(it.cost_usd for it in done)
        bars = [Bar(it.number, total) for it, total in zip(done, spent, strict=True)]
        self.query_one("#spent", Chart).show(bars, _limit(limits.total))


def outcome_look(outcome: IterationOutcome | None) -> Look:
    if outcome is IterationOutcome.COMPLETE:
        return DONE
    return STOPPED if outcome is None or outcome in _STOPPED else REJECTED


def _growth(sizes: Sequence[int]) -> str:
    if not sizes:
        return ""
    if sizes[0] == sizes[-1]:
        return f"plan of {plural(sizes[-1], 'task')}"
    verb = "grew" if sizes[-1] > sizes[0] else "shrank"
    return f"plan {verb} from {sizes[0]} to {plural(sizes[-1], 'task')}"


def _limit(most: float) -> str:
    return f"limit {limit(most)}" if most else ""


def _legend(glyphs: Glyphs) -> Line:
    return [
        Span(f"{getattr(glyphs, look.glyph)} {look.word}   ", look.tone)
        for look in (DONE, REJECTED, STOPPED)
    ]
