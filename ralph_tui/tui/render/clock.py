"""Times of the clock as the person's own shows them; one form wherever the screen names one. Pure functions."""

import re
from datetime import UTC, datetime

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(?::\d\d)? UTC")


def clock(moment: datetime, now: datetime | None) -> str:
    """`14:05`, with its date when that is not today's."""
    here = moment.astimezone()
    today = now is None or here.date() == now.astimezone().date()
    return f"{here:%H:%M}" if today else f"{here:%Y-%m-%d %H:%M}"


def when(moment: datetime | None) -> str:
    """Date and time of something that is past, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else "time unknown"


def in_local(text: str, now: datetime | None) -> str:
    """A sentence of the engine, which may be read anywhere and so names UTC, with the time it is here."""

    def here(found: re.Match[str]) -> str:
        try:
            moment = datetime.strptime(found[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
            return clock(moment, now)
        except (ValueError, OverflowError):  # no day of the calendar, or not here: as it stands
            return found[0]

    return _STAMP.sub(here, text)
