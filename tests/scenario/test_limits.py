"""Usage limits, the hour's requests and the allowance: waited for, asked about, stopped at."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.demo.wire import Reply
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import IterationOutcome, LoopStatus
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.domain.rate import RequestRate
from ralph_tui.domain.state import ApprovalKind, Halt, Phase
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.mission import Mission
from ralph_tui.store.project import Documents, Project
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import Run, play
from tests.scenario.test_recovery import limited

pytestmark = pytest.mark.real_cli

ASK: Mapping[str, object] = {
    "limits.on_usage_limit": "ask",
    "limits.fallback_wait_minutes": 0.02,
}
SOMEBODY = Mission(only=Phase.BUILDING, interactive=True)


@pytest.mark.parametrize("yes", [True, pytest.param(False, marks=pytest.mark.long)])
@pytest.mark.long
async def test_the_person_is_asked_whether_to_wait(tmp_path: Path, yes: bool) -> None:
    project = make_project(tmp_path, [task("a")])

    async def person(run: Run) -> None:
        asked = await run.until_told(ev.ApprovalRequested)
        assert asked.kind is ApprovalKind.LIMIT
        assert "Yes waits" in asked.summary
        Controls(project).decide(approved=yes)

    async with serving(scenario(limited(), finishes("a"))) as server:
        run = await play(project, server, mission=SOMEBODY, overrides=ASK, meanwhile=person)
    expected = (LoopStatus.COMPLETE, 0) if yes else (LoopStatus.USAGE_LIMIT, 2)
    assert (run.end.status, run.end.exit_code) == expected
    assert len(run.of(ev.LimitWait)) == int(yes)
    assert task_of(project, "a").retry_count == 0


@pytest.mark.long
async def test_nobody_is_there_to_be_asked(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(scenario(limited())) as server:
        run = await play(project, server, overrides=ASK)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.USAGE_LIMIT, 2)
    assert not run.of(ev.ApprovalRequested)


async def test_the_hours_requests_hold_a_session_without_ending_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    controls = Controls(project)

    async def person(run: Run) -> None:
        wait = await run.until_told(ev.LimitWait)
        assert wait.message == "1 model requests in the last hour; rate_limit_per_hour is 1."
        assert 3540 < (wait.until - datetime.now(UTC)).total_seconds() < 3720
        asked = len(server.model_requests)
        controls.stop()  # after this iteration: the hold goes on
        await run.until_told(ev.StopRequested)
        assert not run.of(ev.LimitWaitEnded)
        assert len(server.model_requests) == asked == 1
        Project(project).transact(_no_stop)
        controls.retry_now()

    overrides = {"limits.rate_limit_per_hour": 1}
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides=overrides, meanwhile=person)
    assert [e.outcome for e in run.of(ev.IterationFinished)] == [IterationOutcome.COMPLETE]
    assert run.of(ev.LimitWaitEnded)[0].why == "the person retries now"
    assert run.of(ev.UsageReported)[0].requests == 1
    assert len(run.of(ev.SessionStarted)) == 1


def _no_stop(docs: Documents) -> Documents:
    return docs.model_copy(update={"state": docs.state.model_copy(update={"stop": Halt.NONE})})


@pytest.mark.long
async def test_the_hours_requests_are_remembered_by_the_next_run(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    rate = RequestRate().counting(50, datetime.now(UTC))

    def earlier(docs: Documents) -> Documents:
        state = docs.state.model_copy(update={"requests": rate})
        return docs.model_copy(update={"state": state})

    Project(project).create()
    Project(project).transact(earlier)

    async def person(run: Run) -> None:
        await run.until_told(ev.LimitWait)
        assert not server.requests
        Controls(project).stop()

    overrides = {"limits.rate_limit_per_hour": 50}
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides=overrides, meanwhile=person)
        assert not server.requests
    assert (run.end.status, run.end.iterations) == (LoopStatus.INTERRUPTED, 0)
    assert not run.of(ev.IterationStarted)


@pytest.mark.long
async def test_the_loop_stops_before_the_allowance_is_used_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resets = int(datetime.now(UTC).timestamp()) + 3600
    said = {
        "anthropic-ratelimit-unified-status": "allowed",
        "anthropic-ratelimit-unified-reset": str(resets),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": "allowed",
        "anthropic-ratelimit-unified-5h-utilization": "0.83",
        "anthropic-ratelimit-unified-5h-reset": str(resets),
        "anthropic-ratelimit-unified-7d-status": "allowed",
        "anthropic-ratelimit-unified-7d-utilization": "0.41",
        "anthropic-ratelimit-unified-7d-reset": str(resets + 90_000),
    }
    begin = Reply.begin

    async def with_allowance(self: Reply, headers: Mapping[str, str] | None = None) -> None:
        await begin(self, {**said, **(headers or {})})

    monkeypatch.setattr(Reply, "begin", with_allowance)
    project = make_project(tmp_path, [task("a"), task("b")])
    overrides = {"limits.stop_at_allowance_percent": 80}
    # Only a subscription has an allowance; the token is no real one.
    login = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-no-real-token"}
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        async with asyncio.timeout(60):
            run = await play(project, server, overrides=overrides, environ=login)
    windows = {e.allowance.name: e.allowance.percent for e in run.of(ev.AllowanceReported)}
    assert windows == {"5-hour": 83, "weekly": 41}
    assert (run.end.status, run.end.exit_code) == (LoopStatus.USAGE_LIMIT, 2)
    assert run.end.reason == "83 % of the 5-hour allowance is used, the limit is 80 %"
    assert "It resets at 20" in run.end.hint
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert task_of(project, "b").status is TaskStatus.PENDING
