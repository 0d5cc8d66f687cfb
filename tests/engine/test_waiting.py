"""Waits by two clocks: one that is set back or jumps ahead, and one that only runs."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.engine import waiting
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.waiting import wait_until
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
