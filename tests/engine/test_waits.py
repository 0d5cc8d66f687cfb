"""Waits by two clocks: one that is set back or jumps ahead, and one that only runs."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import FailureClass
from ralph_tui.domain.project_state import Pause
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import fatal_end
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.limits import waits
from ralph_tui.engine.limits.waits import Backoff, wait_until
from ralph_tui.store.project import Project
from tests.harness.run_parts import PartialRun, partial_run
from tests.harness.waiting import until as true_within

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clocks:
    """Each look lets time pass: `wall` and `steady` seconds."""

    def __init__(self, wall: float, steady: float) -> None:
        self.now, self.mono, self.looks = NOON, 0.0, 0
        self._wall, self._steady = wall, steady

    def clock(self) -> datetime:
        self.looks += 1
        now = self.now
        self.now += timedelta(seconds=self._wall)
        return now

    def monotonic(self) -> float:
        self.mono += self._steady
        return self.mono


@pytest.mark.parametrize(
    ("wall", "steady", "most"),
    [
        (5000.0, 1.0, 4),  # the machine slept: the wall clock says that it is over
        (-600.0, 900.0, 8),  # somebody sets the clock back again and again: an hour stays an hour
        (900.0, 900.0, 8),
    ],
)
async def test_a_wait_ends_whatever_happens_to_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wall: float, steady: float, most: int
) -> None:
    monkeypatch.setattr("ralph_tui.engine.core.project_state.CLOCK_CHECK_SECONDS", 0.001)
    project = Project(tmp_path)
    project.create()
    told: list[Event] = []
    project_state = ProjectState(project, told.append)
    await project_state.open()
    clocks = Clocks(wall, steady)
    monkeypatch.setattr(waits, "time", clocks)
    run = partial_run(project_state=project_state, emit=told.append, clock=clocks.clock)
    async with asyncio.timeout(20):
        why = await wait_until(run, NOON + timedelta(hours=1), "m")
    assert why == "the wait is over"
    assert 2 <= clocks.looks <= most
    assert [e.why for e in told if isinstance(e, ev.LimitWaitEnded)] == [why]


@pytest.mark.parametrize("resets", [None, NOON - timedelta(hours=1), NOON])
async def test_a_reset_that_is_over_by_our_clock_is_not_asked_for_at_once(
    tmp_path: Path, resets: datetime | None
) -> None:
    told, run = await limited_run(tmp_path)
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m", resets_at=resets)
    async with asyncio.timeout(20):
        assert await Backoff(run).after(limit)
    (wait,) = [e for e in told if isinstance(e, ev.LimitWait)]
    assert wait.until == NOON + timedelta(minutes=0.001)


async def test_a_reset_in_the_far_future_is_not_waited_for(tmp_path: Path) -> None:
    told, run = await limited_run(tmp_path)
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m", resets_at=NOON.replace(year=9999))
    assert not await Backoff(run).after(limit)
    assert told == []


async def test_waits_for_a_limit_add_up_by_the_clock_that_only_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, run = await limited_run(tmp_path, {"limits.max_wait_minutes": 90})
    monkeypatch.setattr(waits, "time", Clocks(wall=0, steady=1_200))  # each wait takes an hour
    pauses = Backoff(run)
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m")
    async with asyncio.timeout(20):
        assert [await pauses.after(limit) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(("chance", "spread"), [(0.0, 1.0), (0.5, 1.25), (1.0, 1.5)])
async def test_a_busy_service_is_asked_again_later_each_time_and_not_by_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chance: float, spread: float
) -> None:
    monkeypatch.setattr("ralph_tui.engine.limits.waits.MAX_BACKOFF", timedelta(seconds=0.03))
    told, run = await limited_run(tmp_path, {"limits.backoff_seconds": 0.01})
    monkeypatch.setattr(waits, "random", SimpleNamespace(random=lambda: chance))
    pauses = Backoff(run)
    for kind in (FailureClass.OVERLOADED, FailureClass.NETWORK, FailureClass.OVERLOADED):
        assert await pauses.after(Failure(kind=kind, message="m"))
    assert not await pauses.after(None)
    await pauses.after(Failure(kind=FailureClass.NETWORK, message="m"))
    found = [(e.until - NOON).total_seconds() for e in told if isinstance(e, ev.LimitWait)]
    assert found == [round(pause * spread, 6) for pause in (0.01, 0.02, 0.03, 0.01)]


async def test_two_loops_that_an_outage_stopped_do_not_ask_in_the_same_moment(
    tmp_path: Path,
) -> None:
    told, run = await limited_run(tmp_path, {"limits.backoff_seconds": 0.01})
    for _ in range(8):
        await Backoff(run).after(Failure(kind=FailureClass.NETWORK, message="m"))
    assert len({event.until for event in told if isinstance(event, ev.LimitWait)}) > 1


@pytest.mark.parametrize("between", [None, FailureClass.CLI_DIED])
async def test_an_outage_is_bounded_and_what_works_in_between_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: FailureClass | None
) -> None:
    values = {"limits.backoff_seconds": 0.001, "limits.max_outage_minutes": 10}
    _, run = await limited_run(tmp_path, values)
    monkeypatch.setattr(waits, "time", clocks := Clocks(wall=0, steady=0.001))
    pauses = Backoff(run)
    down = Failure(kind=FailureClass.NETWORK, message="m")
    assert await pauses.after(down)
    clocks.mono += 9 * 60
    assert await pauses.after(down)
    clocks.mono += 2 * 60
    assert not await pauses.after(down)
    assert pauses.outage_duration == "11m 00s"
    end = fatal_end(down, outage=pauses.outage_duration)
    assert end is not None
    assert (end.exit_code, end.reason) == (3, "the API was unavailable for 11m 00s: m")

    other = Failure(kind=between, message="m") if between else None
    assert not await pauses.after(other)
    assert pauses.outage_duration == ""
    assert await pauses.after(down)


async def test_who_looks_from_elsewhere_finds_the_wait_on_disk_while_it_lasts(
    tmp_path: Path,
) -> None:
    _, run = await limited_run(tmp_path)
    project, until = Project(tmp_path), NOON + timedelta(hours=1)
    waiting_it = asyncio.create_task(wait_until(run, until, "The limit is reached."))
    await true_within(lambda: project.load().state.waits is not None)
    assert project.load().state.waits == Pause(until=until, why="The limit is reached.")
    waiting_it.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting_it
    assert project.load().state.waits is None


async def test_the_question_about_a_limit_expires_while_the_machine_sleeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph_tui.engine.core.project_state.CLOCK_CHECK_SECONDS", 0.001)
    values = {"limits.on_usage_limit": "ask", "limits.ask_timeout_seconds": 3_600}
    told, run = await limited_run(tmp_path, values)
    clocks = Clocks(wall=0, steady=0)
    cast("PartialRun", run).clock = clocks.clock
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m")
    run.request = RunRequest(interactive=True)
    deciding = asyncio.create_task(Backoff(run).after(limit))
    await true_within(lambda: any(isinstance(event, ev.ApprovalRequested) for event in told))
    clocks.now += timedelta(hours=1)  # the laptop slept, and no timer ran
    async with asyncio.timeout(20):
        assert not await deciding
    (given,) = [event for event in told if isinstance(event, ev.ApprovalGiven)]
    assert (given.approved, given.by) == (False, "timeout")


async def limited_run(
    tmp_path: Path, values: Mapping[str, object] | None = None
) -> tuple[list[Event], RunContext]:
    """What the wait for a limit needs, at a clock that stands still; and what is told."""
    project = Project(tmp_path)
    project.create()
    told: list[Event] = []
    project_state = ProjectState(project, told.append)
    await project_state.open()
    told.clear()
    overrides = {"limits.on_usage_limit": "wait", "limits.fallback_wait_minutes": 0.001}
    settings = load_settings(tmp_path, overrides={**overrides, **(values or {})}, environ={})
    run = partial_run(
        project_state=project_state, emit=told.append, clock=lambda: NOON, settings=settings
    )
    return told, run
