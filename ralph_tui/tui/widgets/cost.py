"""What was spent, against the three limits."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.tui.render.bars import bar, level_tone
from ralph_tui.tui.render.figures import limit, money
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.render.states import Look
from ralph_tui.tui.widgets.panel import Panel

_FIGURES = 30
"""Cells of name, amount and limit; the bar has the rest."""


class CostPanel(Panel):
    """Iteration, session and total, each with its limit."""

    TITLE = "cost"

    costs: reactive[CostMeter] = reactive(CostMeter())
    limits: reactive[CostLimits] = reactive(CostLimits())

    def watch_costs(self) -> None:
        """The word in the border says how near the nearest limit is."""
        self.caption()

    def watch_limits(self) -> None:
        """The same when a limit moved."""
        self.caption()

    def caption(self) -> None:
        """Within, near or at a limit."""
        self.show_look(cost_look(self.costs, self.limits))

    def lines(self, width: int) -> Sequence[Line]:
        """One line per level."""
        return [self._level(level, width) for level in CostLevel]

    def _level(self, level: CostLevel, width: int) -> Line:
        spent, most = self.costs.of(level), self.limits.of(level)
        share = _share(spent, most)
        line = [
            Span(f"{level.value.ljust(10)}", Tone.MUTED),
            Span(f"{money(spent):>8}", Tone.TEXT if share < 0.8 else level_tone(share)),
            Span(f" of {limit(most)}".ljust(11), Tone.MUTED),
        ]
        room = width - _FIGURES
        return [*line, *bar(share, room, level_tone(share), self.app.glyphs)] if room > 3 else line


def _share(spent: float, most: float) -> float:
    return spent / most if most else 0.0  # 0 is no limit


def cost_look(costs: CostMeter, limits: CostLimits) -> Look:
    """The state of the level that is nearest its limit."""
    share = max(_share(costs.of(level), limits.of(level)) for level in CostLevel)
    if share >= 1:
        return Look("failed", "limit reached", Tone.BAD)
    return Look("warning", "near a limit", Tone.WARN) if share >= 0.8 else _WITHIN


_WITHIN = Look("ok", "within limits", Tone.OK)
