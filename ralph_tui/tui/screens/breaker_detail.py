"""Every signal of the circuit breaker with its evidence."""

from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.tui.render.breaker import breaker_parts
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.screens.parts import PartsReader


class BreakerDetail(PartsReader):
    """What counted, how near each threshold is, and what is off."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        """Show the breaker as it is now."""
        super().__init__()
        self._breaker = breaker

    def reader_title(self) -> str:
        """Fixed."""
        return "circuit breaker"

    def blocks(self) -> list[Part]:
        """One per signal that counts."""
        return breaker_parts(self._breaker, self.app.glyphs)
