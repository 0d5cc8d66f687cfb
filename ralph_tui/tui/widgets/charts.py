"""What it cost and how it went, as plots over the iterations.

Charts
└── Grid
    └── Chart (6)  drawn one after the other, those in sight only
"""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby

from textual import getters
from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.message import Message

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.present.sections.charts import Drawing, Measure, drawn, thinned
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.widgets.styled import Toned


class Chart(Toned):
    """Shows one series; asks for it to be drawn once it is in sight, and says so when there is nothing to draw."""

    class Wanted(Message):
        """A chart in sight is not drawn as it is now."""

        def __init__(self, chart: "Chart", drawing: Drawing) -> None:
            """Say which, and how it is to be drawn."""
            super().__init__()
            self.chart = chart
            self.drawing = drawing

    def __init__(self, title: str, said: str, measure: Measure, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Name what it shows; `said` stands in the lower border."""
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
        """Show these points; `note` stands in the lower border."""
        self._series = thinned(xs, ys)
        self._known = True
        self.border_subtitle = Content(note or self._said)
        self.refresh()

    def take(self, drawing: Drawing, lines: Sequence[str]) -> None:
        """This is what was asked for."""
        self._drawing, self._lines = drawing, lines
        self.refresh()

    def on_resize(self) -> None:
        """A chart is as large as its frame."""
        self.refresh()

    def render(self) -> Content:
        """The chart as it was drawn last; one of another size is of no use."""
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
    """Six of them; the loop of the screen goes on while one is drawn."""

    app = getters.app(Host)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._wanted: dict[Chart, Drawing] = {}
        self._busy = False

    def compose(self) -> ComposeResult:
        """Rows of two or three."""
        with Grid(id="chart-grid"):
            yield Chart("cost per iteration", "US dollars", Measure.MONEY, id="cost")
            yield Chart("tokens per iteration", "without cached reads", Measure.TOKENS, id="tokens")
            yield Chart("context at the end", "of the window", Measure.SHARE, id="context")
            yield Chart("duration per iteration", "", Measure.TIME, id="duration")
            yield Chart("open tasks", "burn-down", Measure.TASKS, id="burndown")
            yield Chart("total cost", "US dollars", Measure.MONEY, id="spent")

    def show(self, iterations: Sequence[Iteration]) -> None:
        """What each iteration says of itself."""
        done = [it for it in iterations if it.end]
        numbers = [float(it.number) for it in done]
        self._show("cost", numbers, [it.cost_usd for it in done])
        self._show("tokens", numbers, [float(it.tokens) for it in done])
        self._show("context", numbers, [it.percent for it in done])
        self._show("duration", numbers, [it.seconds for it in done])

    def show_sums(self, iterations: Sequence[Iteration], left: Forecast) -> None:
        """What needs every iteration."""
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
        """One is drawn at a time, so that threads are left for the disk."""
        self._wanted[message.chart] = message.drawing
        if not self._busy:
            self._busy = True
            do(self, self._draw(), "charts")

    async def _draw(self) -> None:
        """A bug in one drawing is told, and the next time it is tried again."""
        try:
            while self._wanted:
                chart = next(iter(self._wanted))
                drawing = self._wanted.pop(chart)
                chart.take(drawing, await asyncio.to_thread(drawn, drawing))
        finally:
            self._busy = False
