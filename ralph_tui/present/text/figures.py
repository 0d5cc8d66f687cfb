"""Writes numbers, amounts and times of the clock as people read them.

People read local times: with the zone in lines that may be read later or elsewhere, without it on the
screen and in tables. What programs read (JSON, CSV, the journal) is in UTC.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from ralph_tui.domain.run.breaker import CircuitBreaker


def tokens(value: int) -> str:
    """Write a token count with a unit: 950, 68.2k, 1.2M."""
    if value < 1_000:
        return str(value)
    if value < 999_950:
        return f"{value / 1_000:.1f}k".replace(".0k", "k")
    return f"{value / 1_000_000:.1f}M".replace(".0M", "M")


def money(value: float) -> str:
    """Write dollars and cents; from a hundred dollars on, whole dollars."""
    return f"${value:,.0f}" if value >= 100 else f"${value:.2f}"


def limit(value: float) -> str:
    """Write a limit in dollars, without cents when it has none; 0 is no limit."""
    if not value:
        return "none"
    return f"${value:,.0f}" if value == int(value) else f"${value:,.2f}"


_STAMP = r"(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?) UTC"


def clock(moment: datetime, now: datetime | None) -> str:
    """Write a local time, `14:05`, with its date when that is not today's."""
    here = moment.astimezone()
    today = now is None or here.date() == now.astimezone().date()
    return f"{here:%H:%M}" if today else f"{here:%Y-%m-%d %H:%M}"


def when(moment: datetime | None) -> str:
    """Write the local date and time of something in the past, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else "time unknown"


def stamp(moment: datetime) -> str:
    """Write the local date and time with its zone, `2026-09-04 14:05:00 CEST`."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}"


def zoned(text: str) -> str:
    """Replace the UTC times in a sentence of the engine with local times, dates and zone included."""
    return _in_words(text, stamp)


def in_local(text: str, now: datetime | None) -> str:
    """Replace the UTC times in a sentence of the engine with local times of the clock."""
    return _in_words(text, lambda moment: clock(moment, now))


def _in_words(text: str, written: Callable[[datetime], str]) -> str:
    def here(found: re.Match[str]) -> str:
        try:
            moment = datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
            return written(moment)
        except (ValueError, OverflowError):  # no such date: leave the text
            return found[0]

    return re.sub(_STAMP, here, text) if " UTC" in text else text


def breaker_counts(breaker: CircuitBreaker) -> str:
    """List the counters above zero, such as `failures 1/3, same error 1/5`; costs are shown elsewhere."""
    signals = (s for s in breaker.signals() if s.count and s.threshold and s.name != "cost")
    return ", ".join(f"{s.name} {s.count:g}/{s.threshold:g}" for s in signals)
