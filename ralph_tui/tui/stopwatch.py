"""How long the run has been going, folded from events."""

from dataclasses import dataclass, replace
from datetime import datetime

from ralph_tui.domain.events import Event, LoopFinished, LoopStarted


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The time since the loop started, or what it took when it is over."""

    started: datetime | None = None
    took: float | None = None

    def after(self, event: Event, now: datetime) -> "Stopwatch":
        """The watch after one more event; events without a time count as now."""
        if isinstance(event, LoopStarted):
            return Stopwatch(started=event.time or now)
        if isinstance(event, LoopFinished):
            return replace(self, took=event.seconds or self.elapsed(event.time or now))
        return self

    def elapsed(self, now: datetime) -> float:
        """Seconds; never negative, whatever the clock does."""
        if self.took is not None:
            return self.took
        return max(0.0, (now - self.started).total_seconds()) if self.started else 0.0
