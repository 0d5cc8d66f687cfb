"""Watch how much of a subscription's windows is used, and end the run at the person's share."""

from datetime import datetime

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import Event, LoopStatus
from ralph_tui.domain.run.usage_quota import Allowance
from ralph_tui.engine.core.outcome import End


class QuotaWatch:
    """Knows the windows as last reported; a window that has reset meanwhile is forgotten."""

    def __init__(self, *, stop_at_percent: int) -> None:
        """Stop at this share of a window; 0 percent never stops."""
        self._stop_at = stop_at_percent
        self._known: dict[str, Allowance] = {}

    def note(self, event: Event) -> None:
        """Note what an event says of the allowance."""
        if isinstance(event, ev.AllowanceReported):
            self._known[event.allowance.window] = event.allowance

    def used_up(self, now: datetime) -> End | None:
        """Return an end when the person's share of a window is used."""
        current = [a for a in self._known.values() if a.resets_at is None or a.resets_at > now]
        over = [a for a in current if a.used_up(self._stop_at)]
        if not over:
            return None
        worst = max(over, key=lambda allowance: allowance.percent)
        resets = f" It resets at {worst.resets_at:%Y-%m-%d %H:%M} UTC." if worst.resets_at else ""
        return End(
            status=LoopStatus.USAGE_LIMIT,
            reason=worst.used_up(self._stop_at),
            hint=f"Raise limits.stop_at_allowance_percent to continue.{resets}",
            exit_code=ExitCode.USAGE_LIMIT,
        )
