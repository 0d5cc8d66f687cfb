"""The circuit breaker's counters."""

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.reactive import reactive

from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.tui.render.breaker import breaker_lines
from ralph_tui.tui.render.spans import Line
from ralph_tui.tui.render.states import BREAKER
from ralph_tui.tui.widgets.panel import Panel


class BreakerPanel(Panel):
    """The main signals and whichever other is nearest its threshold; Enter shows them all."""

    TITLE = "breaker"

    class Opened(Message):
        """A double click: all of its signals are wanted."""

    breaker: reactive[CircuitBreaker] = reactive(CircuitBreaker())

    def on_click(self, event: events.Click) -> None:
        """Two are Enter, as in the lists."""
        if event.chain == 2:
            self.post_message(self.Opened())

    def watch_breaker(self) -> None:
        """The state's word is in the border."""
        self.caption()

    def caption(self) -> None:
        """Closed, half-open or open."""
        self.show_look(BREAKER[self.breaker.state])

    def lines(self, width: int) -> Sequence[Line]:
        """Always four, so that nothing below jumps."""
        return breaker_lines(self.breaker, width, self.app.glyphs)
