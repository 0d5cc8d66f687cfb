"""Format numbers, amounts and times for people.

People read local times: with the time zone in logs, which may be read later or elsewhere, and without it on
the screen and in tables. Programs read UTC (JSON, the journal).
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from ralph_tui.domain.formatting import duration
from ralph_tui.domain.run.breaker import CircuitBreaker


def tokens(value: int) -> str:
    """Format a token count: 950, 68.2k, 1.2M."""
    if value < 1_000:
        return str(value)
    if value < 999_950:
        return f"{value / 1_000:.1f}k".replace(".0k", "k")
    return f"{value / 1_000_000:.1f}M".replace(".0M", "M")


def money(value: float) -> str:
    return f"${value:,.0f}" if value >= 100 else f"${value:.2f}"


def limit(value: float) -> str:
    if not value:
        return "none"
    return f"${value:,.0f}" if value == int(value) else f"${value:,.2f}"


_STAMP = r"(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) UTC"


def clock(moment: datetime, now: datetime | None) -> str:
    """Format a local time, `14:05`, with the date unless it is today's."""
    here = moment.astimezone()
    today = now is None or here.date() == now.astimezone().date()
    return f"{here:%H:%M}" if today else f"{here:%Y-%m-%d %H:%M}"


def in_and_at(until: datetime, now: datetime) -> str:
    """Format how long a wait lasts and when it ends: `in 5m, at 14:05`."""
    left = duration(max(0.0, (until - now).total_seconds()))
    return f"in {left}, at {clock(until, now)}"


def when(moment: datetime | None) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else "time unknown"


def stamp(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def zoned(text: str) -> str:
    return _replace_times(text, stamp)


def in_local(text: str, now: datetime | None) -> str:
    return _replace_times(text, lambda moment: clock(moment, now))


def _replace_times(text: str, format_time: Callable[[datetime], str]) -> str:
    def replacement(found: re.Match[str]) -> str:
        try:
            moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
            return format_time(moment)
        except (ValueError, OverflowError):  # an invalid date stays as it is
            return found[0]

    return re.sub(_STAMP, replacement, text) if " UTC" in text else text


def breaker_counts(breaker: CircuitBreaker) -> str:
    signals = (s for s in breaker.signals() if s.count and s.threshold and s.name != "cost")
    return ", ".join(f"{s.name} {s.count:g}/{s.threshold:g}" for s in signals)
