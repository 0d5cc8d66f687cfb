"""Count the model requests of the last hour by the minute, across restarts."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


class RequestRate(Record):
    """The requests in each minute of the last hour. The keys are whole minutes since 1970."""

    minutes: Mapping[int, Count] = Field(default_factory=dict)

    def counting(self, requests: int, now: datetime) -> "RequestRate":
        """Return a copy with `requests` more at the time `now`, without counts older than an hour."""
        if requests <= 0:
            return self
        minute = _minute(now)
        kept = {m: n for m, n in self.minutes.items() if _counts(m, now)}
        return RequestRate(minutes={**kept, minute: kept.get(minute, 0) + requests})

    def joined(self, other: "RequestRate") -> "RequestRate":
        both = {*self.minutes, *other.minutes}
        return RequestRate(
            minutes={m: self.minutes.get(m, 0) + other.minutes.get(m, 0) for m in both}
        )

    def in_hour(self, now: datetime) -> int:
        return sum(n for m, n in self.minutes.items() if _counts(m, now))

    def free_at(self, limit: int, now: datetime) -> Timestamp | None:
        """Return when the last hour will have fewer than `limit` requests.

        None means that it has fewer already, or that there is no limit because `limit` is 0.
        """
        over = self.in_hour(now) - limit
        if limit <= 0 or over < 0:
            return None
        for minute in sorted(m for m in self.minutes if _counts(m, now)):
            over -= self.minutes[minute]
            if over < 0:
                return datetime.fromtimestamp(minute * 60, now.tzinfo) + HOUR + MINUTE
        return None


def _minute(now: datetime) -> int:
    return int(now.timestamp()) // 60


def _counts(minute: int, now: datetime) -> bool:
    current = _minute(now)
    return current - 60 <= minute <= current + 60
