"""The requests of an hour, against a plain list of times."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.run.rate_limit import RequestRate

START = datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
STEPS = st.lists(st.tuples(st.integers(0, 3 * 3600), st.integers(0, 5)), max_size=30)


def counted(steps: list[tuple[int, int]]) -> tuple[RequestRate, list[datetime], datetime]:
    rate, times, now = RequestRate(), [], START
    for seconds, requests in steps:
        now += timedelta(seconds=seconds)
        rate = rate.counting(requests, now)
        times += [now] * requests
    return rate, times, now


@given(STEPS)
def test_never_fewer_than_there_were_and_at_most_a_minute_more(
    steps: list[tuple[int, int]],
) -> None:
    rate, times, now = counted(steps)
    exact = sum(1 for t in times if t > now - timedelta(hours=1))
    with_a_minute = sum(1 for t in times if t > now - timedelta(minutes=61))
    assert exact <= rate.in_hour(now) <= with_a_minute
    assert len(rate.minutes) <= 61


@given(STEPS, st.integers(1, 20))
def test_free_exactly_when_there_is_room(steps: list[tuple[int, int]], limit: int) -> None:
    rate, _, now = counted(steps)
    free = rate.free_at(limit, now)
    assert (free is None) == (rate.in_hour(now) < limit)
    if free is not None:
        assert now < free <= now + timedelta(minutes=61)
        assert rate.in_hour(free) < limit
        assert rate.in_hour(free - timedelta(minutes=1)) >= limit, "no longer than needed"


def test_no_limit_and_a_clock_that_was_set_back() -> None:
    rate = RequestRate().counting(9, START)
    assert rate.free_at(0, START) is None
    assert rate.in_hour(START - timedelta(days=1)) == 0
    assert RequestRate.model_validate_json(rate.model_dump_json()) == rate
