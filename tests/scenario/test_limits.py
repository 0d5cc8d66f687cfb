"""Usage limits, the hour's requests and the allowance: waited for, asked about, stopped at."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.demo.http import Reply
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import StopMode
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Documents, Project
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, hands_over, scenario, works_forever
from tests.scenario.running import Run, play


@pytest.mark.usefixtures("played_cli")
async def test_the_hours_requests_hold_a_session_without_ending_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    controls = Controls(project)

    async def person(run: Run) -> None:
        wait = await run.until_told(ev.LimitWait)
        assert (
            wait.message
            == "1 model request in the last hour. The maximum is 1 (limits.rate_limit_per_hour)."
        )
        assert 3540 < (wait.until - datetime.now(UTC)).total_seconds() < 3720
        asked = len(answered(server))
        controls.stop()  # after this iteration: the hold goes on
        await run.until_told(ev.StopRequested)
        assert not run.of(ev.LimitWaitEnded)
        assert len(answered(server)) == asked == 1
        Project(project).transact(_no_stop)
        controls.retry_now()

    overrides = {"limits.rate_limit_per_hour": 1}
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides=overrides, meanwhile=person)
    assert [e.outcome for e in run.of(ev.IterationFinished)] == [IterationOutcome.COMPLETE]
    assert run.of(ev.LimitWaitEnded)[0].why == "retried on request"
    assert run.of(ev.UsageReported)[0].requests == 1
    assert len(run.of(ev.SessionStarted)) == 1


def _no_stop(docs: Documents) -> Documents:
    return docs.model_copy(update={"state": docs.state.model_copy(update={"stop": StopMode.NONE})})


# Only a subscription has an allowance; the token is no real one.
LOGIN = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-no-real-token"}


@pytest.fixture
def allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model reports that 83 % of the 5-hour window is used."""
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
    begin = Reply.begin_stream

    async def with_allowance(self: Reply, headers: Mapping[str, str] | None = None) -> None:
        await begin(self, {**said, **(headers or {})})

    monkeypatch.setattr(Reply, "begin_stream", with_allowance)


@pytest.mark.long
@pytest.mark.usefixtures("allowance")
async def test_a_session_is_summed_up_when_the_share_of_the_allowance_is_used(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    overrides = {"limits.stop_at_allowance_percent": 80}
    async with serving(scenario(works_forever("a"), hands_over("a", "half of it"))) as server:
        async with asyncio.timeout(60):
            run = await play(project, server, overrides=overrides, environ=LOGIN)
    windows = {e.allowance.name: e.allowance.percent for e in run.of(ev.AllowanceReported)}
    assert windows == {"5-hour": 83, "weekly": 41}
    assert (run.end.status, run.end.exit_code) == (LoopStatus.USAGE_LIMIT, 2)
    why = "83 % of the 5-hour allowance is used, the limit is 80 %"
    assert run.end.reason == why
    assert "The quota resets at 20" in run.end.hint
    (ended,) = run.of(ev.IterationFinished)
    assert (ended.outcome, ended.reason) == (IterationOutcome.HANDED_OFF, why)
    (session,) = Project(project).read_sessions()
    assert session.handoff_reason == "allowance"
    assert len(run.of(ev.ToolFinished)) == 2, "the operation it was at, and the summary"
    assert "half of it" in (project / "MEMORY.md").read_text(encoding="utf-8")
    assert task_of(project, "a").status is TaskStatus.PENDING
    assert task_of(project, "a").retry_count == 0
