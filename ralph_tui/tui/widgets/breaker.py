"""The circuit breaker's counters."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.domain.breaker import CircuitBreaker, Signal
from ralph_tui.tui.render.bars import bar, dots, level_tone
from ralph_tui.tui.render.figures import limit, money
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.render.states import BREAKER
from ralph_tui.tui.widgets.panel import Panel

_FIGURES = 30


class BreakerPanel(Panel):
    """Each signal as n of its threshold."""

    TITLE = "breaker"

    breaker: reactive[CircuitBreaker] = reactive(CircuitBreaker())

    def watch_breaker(self) -> None:
        """The state's word is in the border."""
        self.caption()

    def caption(self) -> None:
        """Closed, half-open or open."""
        self.show_look(BREAKER[self.breaker.state])

    def lines(self, width: int) -> Sequence[Line]:
        """One line per signal."""
        return [self._signal(signal, width) for signal in self.breaker.signals()]

    def _signal(self, signal: Signal, width: int) -> Line:
        glyphs = self.app.glyphs
        name = Span(signal.name.ljust(12), Tone.MUTED)
        if not signal.threshold:
            return [name, Span("   off", Tone.MUTED)]
        share = signal.count / signal.threshold
        tone = Tone.TEXT if share < 0.6 else level_tone(share)
        if signal.name == "cost":
            figures = (f"{money(signal.count):>6}", f" of {limit(signal.threshold)}")
            room = width - _FIGURES
            gauge = bar(share, room, level_tone(share), glyphs) if room > 3 else []
        else:
            figures = (f"{signal.count:>6.0f}", f" of {signal.threshold:.0f}")
            gauge = dots(signal.count, signal.threshold, glyphs)
        return [name, Span(figures[0], tone), Span(figures[1].ljust(12), Tone.MUTED), *gauge]
