"""Waits by two clocks: one that is set back or jumps ahead, and one that only runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event, FailureClass
from ralph_tui.engine import waiting
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.mission import Mission
from ralph_tui.engine.ports import Failure
from ralph_tui.engine.waiting import Patience, wait_until
from ralph_tui.engine.workshop import Workshop
from ralph_tui.store.project import Project

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
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.001)
    project = Project(tmp_path)
    project.create()
    told: list[Event] = []
    ledger = Ledger(project, told.append)
    await ledger.open()
    clocks = Clocks(wall, steady)
    shop = cast("Workshop", SimpleNamespace(ledger=ledger, emit=told.append, clock=clocks.clock))
    async with asyncio.timeout(20):
        why = await wait_until(shop, NOON + timedelta(hours=1), "m", monotonic=clocks.monotonic)
    assert why == "the wait is over"
    assert 2 <= clocks.looks <= most
    assert [e.why for e in told if isinstance(e, ev.LimitWaitEnded)] == [why]


@pytest.mark.parametrize("resets", [None, NOON - timedelta(hours=1), NOON])
async def test_a_reset_that_is_over_by_our_clock_is_not_asked_for_at_once(
    tmp_path: Path, resets: datetime | None
) -> None:
    told, shop = await limited_shop(tmp_path)
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m", resets_at=resets)
    async with asyncio.timeout(20):
        assert await Patience(shop, Mission()).after(limit)
    (wait,) = [e for e in told if isinstance(e, ev.LimitWait)]
    assert wait.until == NOON + timedelta(minutes=0.001)


async def test_a_reset_in_the_far_future_is_not_waited_for(tmp_path: Path) -> None:
    told, shop = await limited_shop(tmp_path)
    limit = Failure(kind=FailureClass.USAGE_LIMIT, message="m", resets_at=NOON.replace(year=9999))
    assert not await Patience(shop, Mission()).after(limit)
    assert told == []


async def limited_shop(tmp_path: Path) -> tuple[list[Event], Workshop]:
    """What the wait for a limit needs, at a clock that stands still; and what is told."""
    project = Project(tmp_path)
    project.create()
    told: list[Event] = []
    ledger = Ledger(project, told.append)
    await ledger.open()
    told.clear()
    overrides = {"limits.on_usage_limit": "wait", "limits.fallback_wait_minutes": 0.001}
    settings = load_settings(tmp_path, overrides=overrides, environ={})
    shop = SimpleNamespace(ledger=ledger, emit=told.append, clock=lambda: NOON, settings=settings)
    return told, cast("Workshop", shop)
