"""Replays recorded events at a chosen speed. Pure: the caller passes the time."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from ralph_tui.domain.events import Event

SPEEDS = (1, 2, 5, 10)
LONGEST_SILENCE = 3.0
"""Maximum seconds between two events; a longer silence is shortened to this."""


def times_of(events: Sequence[Event]) -> list[float]:
    """Return when each event is due, in seconds from the first, with silences shortened."""
    if not events:
        return []
    gaps = (_gap(before, after) for before, after in pairwise(events))
    return list(accumulate(gaps, initial=0.0))


def _gap(before: Event, after: Event) -> float:
    if before.time is None or after.time is None:
        return 0.0
    return min(LONGEST_SILENCE, max(0.0, (after.time - before.time).total_seconds()))


class Player:
    """A position in a recording, and a speed."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = events
        self._due = times_of(events)
        self.position = 0
        """Events played so far."""
        self.at = 0.0
        """Seconds of the recording played so far."""
        self.speed = SPEEDS[0]
        self.playing = False

    @property
    def length(self) -> float:
        return self._due[-1] if self._due else 0.0

    @property
    def ended(self) -> bool:
        return self.position >= len(self.events)

    def rewind(self) -> None:
        self.position, self.at = 0, 0.0

    def advance(self, seconds: float) -> Sequence[Event]:
        """Return the events that are due after so many seconds of real time; pause at the end."""
        if not self.playing:
            return ()
        self.at = min(self.length, self.at + seconds * self.speed)
        before, self.position = self.position, bisect_right(self._due, self.at)
        if self.ended:
            self.playing = False
        return self.events[before : self.position]

    def rest(self) -> Sequence[Event]:
        before, self.position = self.position, len(self.events)
        self.at, self.playing = self.length, False
        return self.events[before:]

    def faster(self, step: int) -> None:
        place = SPEEDS.index(self.speed) + step
        self.speed = SPEEDS[min(len(SPEEDS) - 1, max(0, place))]
