"""How full the context window is."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.tui.render.bars import context_bar
from ralph_tui.tui.render.figures import tokens
from ralph_tui.tui.render.spans import Line, Span, Tone, row
from ralph_tui.tui.render.states import ZONE
from ralph_tui.tui.widgets.panel import Panel


class ContextGauge(Panel):
    """Percent of the capacity, the smart zone, and where hand-off is due."""

    TITLE = "context"

    budget: reactive[ContextBudget] = reactive(ContextBudget())
    smart_zone: reactive[tuple[int, int]] = reactive((40, 60))
    past: reactive[tuple[IterationFinished, ...]] = reactive(())

    def watch_budget(self) -> None:
        """The zone's word is in the border."""
        self.caption()

    def caption(self) -> None:
        """The zone in words."""
        self.show_look(ZONE[self.budget.zone])

    def lines(self, width: int) -> Sequence[Line]:
        """Figures, bar, marks."""
        budget = self.budget
        used = f"{tokens(budget.current_usage)} of {tokens(budget.total_capacity)}"
        head = row(
            [Span(f"{budget.percent:.0f} %", Tone.TITLE), Span(f"  {used}", Tone.MUTED)],
            [Span(f"hand-off at {budget.budget_percent} %", Tone.MUTED)],
            width,
        )
        return [head, *context_bar(budget, self.smart_zone, width, self.app.glyphs, self.past)]
