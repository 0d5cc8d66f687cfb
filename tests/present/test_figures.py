"""Times on the screen are the person's own."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.present.text.figures import clock, in_local, stamp, when, zoned
from ralph_tui.present.text.glyphs import ASCII
from ralph_tui.present.timeline.event_lines import EventPrinter

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_a_time_is_local_and_has_its_date_when_that_is_another_day() -> None:
    assert clock(NOON, NOON) == "21:00"
    assert clock(NOON.replace(hour=15), NOON) == "2026-03-03 00:00"
    assert when(NOON) == "2026-03-02 21:00"


def test_a_sentence_of_the_engine_names_the_time_it_is_here() -> None:
    said = "One is tried at 2026-03-02 12:31:24 UTC. Not 2026-99-02 12:31 UTC."
    assert in_local(said, NOON) == "One is tried at 21:31. Not 2026-99-02 12:31 UTC."
    assert zoned(said) == "One is tried at 2026-03-02 21:31:24 JST. Not 2026-99-02 12:31 UTC."


def test_what_may_be_read_elsewhere_names_its_zone() -> None:
    assert stamp(NOON) == "2026-03-02 21:00:00 JST"
    waits = ev.LimitWait(until=NOON, message="resets at 2026-03-02 12:00 UTC")
    (line, *_) = EventPrinter(ASCII).lines(waits)
    assert line.text == (
        "~ waiting until 2026-03-02 21:00:00 JST: resets at 2026-03-02 21:00:00 JST"
    )
