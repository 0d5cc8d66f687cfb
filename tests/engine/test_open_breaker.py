"""The cool-down of an open breaker: one try when it is over."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.control.run_settings import reset_breaker
from ralph_tui.engine.core.outcome import End, stopped_end
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.limits.run_limits import cooldown_end, recover_open_breaker
from ralph_tui.engine.run.runner import fresh_breaker
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, task
from tests.harness.run_parts import partial_run
from tests.harness.waiting import until

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HALF_AN_HOUR = timedelta(minutes=30)
OPEN = CircuitBreaker(state=BreakerState.OPEN, failure_count=3)
SOMEBODY = RunRequest(interactive=True)


class Clock:
    """A wall clock that the test sets."""

    def __init__(self) -> None:
        self.wall, self.looks = NOON, 0

    def passes(self, time: timedelta) -> None:
        self.wall += time

    def now(self) -> datetime:
        self.looks += 1
        return self.wall

    async def seen(self, times: int = 1) -> None:
        before = self.looks
        await until(lambda: self.looks >= before + times, what="a look at the clock")


class Stage:
    """An open breaker on disk, and what an engine needs to get past it."""

    def __init__(self, root: Path, minutes: float) -> None:
        self.root, self.clock, self.told = root, Clock(), list[Event]()
        self.project_state = ProjectState(Project(root), self.told.append)
        circuit = SimpleNamespace(cooldown_minutes=minutes)
        self.run = partial_run(
            project_state=self.project_state,
            emit=self.told.append,
            clock=self.clock.now,
            settings=SimpleNamespace(circuit_breaker=circuit),
        )

    @property
    def breaker(self) -> CircuitBreaker:
        return self.project_state.docs.breaker

    def shows(self, ends: datetime | None) -> bool:
        return self.breaker.half_open_at == ends

    def given(self) -> list[tuple[bool, str]]:
        return [(e.approved, e.by) for e in self.told if isinstance(e, ev.ApprovalGiven)]

    async def gets_past(
        self, limit: End | None = None, request: RunRequest = SOMEBODY
    ) -> End | None:
        async with asyncio.timeout(20):
            self.run.request = request
            return await recover_open_breaker(self.run, limit)

    async def asks(self) -> ev.ApprovalRequested:
        requests: list[ev.ApprovalRequested] = []

        def asked() -> bool:
            requests[:] = [e for e in self.told if isinstance(e, ev.ApprovalRequested)]
            return bool(requests)

        await until(asked, what="a request")
        return requests[-1]

    async def set(self, **fields: object) -> None:
        """Somebody changes the state on disk, and the loop sees it."""

        def change(docs: Documents) -> Documents:
            return docs.model_copy(update={"state": docs.state.model_copy(update=fields)})

        self.project_state.project.transact(change)
        await self.project_state.refresh()


async def opened(tmp_path: Path, breaker: CircuitBreaker = OPEN, minutes: float = 30) -> Stage:
    root = make_project(tmp_path, [task("a")])
    Project(root).transact(lambda docs: docs.model_copy(update={"breaker": breaker}))
    stage = Stage(root, minutes)
    await stage.project_state.open()
    return stage


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph_tui.engine.core.project_state.CLOCK_CHECK_SECONDS", 0.005)


async def test_the_clock_lets_one_iteration_try_at_its_time(tmp_path: Path) -> None:
    stage = await opened(tmp_path)
    clocks = stage.clock
    trying = asyncio.create_task(stage.gets_past())
    assert "runs one automatically at 2026-01-01 12:30:00 UTC" in (await stage.asks()).summary
    assert stage.breaker.half_open_at == NOON + HALF_AN_HOUR
    clocks.passes(timedelta(minutes=29))
    await clocks.seen(2)
    assert (trying.done(), stage.breaker.state) == (False, BreakerState.OPEN)

    await stage.set(pause=StopMode.AFTER_ITERATION)
    clocks.passes(timedelta(minutes=2))
    await clocks.seen()
    await stage.set(pause=StopMode.NOW)
    await clocks.seen()
    assert (trying.done(), stage.given()) == (False, []), "it is over, but the loop is to pause"
    await stage.set(pause=StopMode.NONE)
    assert await trying is None
    assert stage.breaker.state is BreakerState.HALF_OPEN
    assert stage.shows(None)
    assert stage.given() == [(True, "cool-down")]
    assert stage.project_state.docs.state.approval is None


async def test_a_reset_or_a_retry_ends_the_cool_down_at_once(tmp_path: Path) -> None:
    stage = await opened(tmp_path)
    trying = asyncio.create_task(stage.gets_past())
    await stage.asks()
    reset_breaker(stage.root, "the disk has room again")
    await stage.project_state.refresh()
    assert await trying is None
    assert stage.breaker.state is BreakerState.CLOSED, "a reset is more than one try"

    again = await opened(tmp_path / "again")
    trying = asyncio.create_task(again.gets_past())
    await again.asks()
    await again.set(retry_now=True)
    assert await trying is None
    assert (again.breaker.state, again.given()) == (BreakerState.HALF_OPEN, [(True, "")])
    assert not again.project_state.docs.state.retry_now


@pytest.mark.parametrize("how", ["no", "stop"])
async def test_an_end_leaves_no_cool_down_behind(tmp_path: Path, how: str) -> None:
    stage = await opened(tmp_path)
    trying = asyncio.create_task(stage.gets_past())
    await stage.asks()
    if how == "no":
        Controls(stage.root).decide(approved=False)
        await stage.project_state.refresh()
    else:
        await stage.set(stop=StopMode.NOW)
    end = await trying
    assert end is not None
    assert end.status.value == ("stopped" if how == "no" else "interrupted")
    assert (stage.breaker.state, stage.breaker.half_open_at) == (BreakerState.OPEN, None)


async def test_where_nothing_can_be_tried_nothing_is_waited_for(tmp_path: Path) -> None:
    stage = await opened(tmp_path)
    alone = await stage.gets_past(request=RunRequest())
    limited = await stage.gets_past(limit=stopped_end("100 iterations ran", ""))
    assert alone == limited
    assert alone is not None
    assert alone.reason == "the circuit breaker opened: 3 failures in a row"
    assert (stage.breaker.half_open_at, stage.project_state.docs.state.approval) == (None, None)


async def test_nobody_is_asked_for_a_try_of_nothing(tmp_path: Path) -> None:
    stage = await opened(tmp_path)
    plan = stage.project_state.docs.plan.with_task("a", status=TaskStatus.BLOCKED)
    stage.project_state.project.transact(lambda docs: docs.model_copy(update={"plan": plan}))
    await stage.project_state.refresh()
    end = await stage.gets_past()
    assert end is not None
    assert end.reason == (
        "the circuit breaker opened: 3 failures in a row; no task is ready. 1 task blocked: a"
    )
    assert "ralph retry" in end.hint
    assert (stage.breaker.half_open_at, stage.project_state.docs.state.approval) == (None, None)


def test_only_time_can_be_waited_for_and_no_longer_than_it_was_meant(tmp_path: Path) -> None:
    assert cooldown_end(OPEN, 30, NOON) == NOON + HALF_AN_HOUR
    assert cooldown_end(OPEN, 0, NOON) is None
    spent = OPEN.model_copy(update={"total_cost": 200.0})
    assert cooldown_end(spent, 30, NOON) is None, "no time brings money back"
    for kept, expected in ((10, 10), (600, 30)):
        cooling = OPEN.cooling(NOON + timedelta(minutes=kept))
        assert cooldown_end(cooling, 30, NOON) == NOON + timedelta(minutes=expected)


@pytest.mark.parametrize("waits", [True, False])
def test_a_cool_down_survives_the_kill_of_its_run(tmp_path: Path, waits: bool) -> None:
    settings = load_settings(tmp_path, environ={}, home=tmp_path)
    cooling = OPEN.cooling(NOON)
    begun = fresh_breaker(cooling, settings, RunRequest(interactive=waits))
    assert begun.is_cooling is waits
    assert begun.failure_count == (3 if waits else 0), "who waits for nobody begins anew"
    off = load_settings(
        tmp_path, overrides={"circuit_breaker.cooldown_minutes": 0}, environ={}, home=tmp_path
    )
    for ended in (
        fresh_breaker(OPEN, settings, SOMEBODY),
        fresh_breaker(cooling, off, SOMEBODY),
        fresh_breaker(cooling, settings, RunRequest(interactive=True, reset_breaker=True)),
    ):
        assert ended.state is BreakerState.CLOSED
