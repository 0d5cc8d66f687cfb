"""The status panels as one line, for when they are not shown beside the stream."""

from textual.content import Content
from textual.reactive import reactive

from ralph_tui.domain.formatting import duration
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.text.figures import limit, money
from ralph_tui.present.text.spans import Span, Tone, width_of
from ralph_tui.present.text.status_labels import ZONE, Look
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.status_panels import breaker_look, cost_look, gate_look
from ralph_tui.tui.widgets.styled import StyledWidget


class StatusStrip(StyledWidget):
    """Shows context, cost of the run, breaker and gate as glyph, figure and word; the last are left out first."""

    view: reactive[LoopView] = reactive(LoopView())
    left: reactive[Forecast | None] = reactive(None)

    def on_click(self) -> None:
        self.post_message(LinkLine.Followed("status"))

    def render(self) -> Content:
        if not self.view.is_known:
            return Content("")
        width = max(20, self.content_size.width)
        shown: list[Span] = []
        for field in self._fields():
            longer = [*shown, Span("   "), *field] if shown else field
            if width_of(longer) > width:
                break
            shown = longer
        return self.content([shown])

    def _fields(self) -> list[list[Span]]:
        view = self.view
        spent = f"{money(view.costs.session)}/{limit(view.limits.per_session)}"
        failures = f"{view.breaker.failure_count}/{view.breaker.max_consecutive_failures}"
        gate = gate_look(view.gate_task_id, passed=view.gate_passed, past=view.gate_is_past)
        return [
            self._field("context", f"{view.budget.percent:.0f} %", ZONE[view.budget.zone]),
            self._field("cost", spent, cost_look(view.costs, view.limits), word=False),
            self._field("breaker", failures, breaker_look(view.breaker)),
            self._field("gate", "", gate),
            *self._forecast(),
        ]

    def _forecast(self) -> list[list[Span]]:
        left = self.left
        if left is None or not (left.open_tasks and left.finished):
            return []
        estimate = f"about {money(left.cost_usd)}, {duration(left.seconds)}"
        return [[Span("to finish ", Tone.MUTED), Span(estimate)]]

    def _field(self, name: str, figure: str, look: Look, *, word: bool = True) -> list[Span]:
        glyph = getattr(self.app.glyphs, look.glyph)
        described = f" {look.word}" if word or look.tone is not Tone.OK else ""
        return [
            Span(f"{name} ", Tone.MUTED),
            Span(f"{figure} " if figure else ""),
            Span(f"{glyph}{described}", look.tone),
        ]
