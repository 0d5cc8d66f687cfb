"""What it cost and how it went, as plots over the iterations.

Charts
└── Grid
    └── Chart (6)  drawn one after the other, those in sight only
"""

import asyncio
from collections.abc import Sequence
from itertools import accumulate

from textual import getters
from textual.app import ComposeResult
from textual.containers import Grid, VerticalScroll

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.tui.doing import do
from ralph_tui.tui.host import Host
from ralph_tui.tui.render.chart import Drawing, Measure, drawn
from ralph_tui.tui.widgets.chart import Chart


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
