"""The files for other tools: what they say at each point of a run, and what becomes of those that cannot be written."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.engine.control.plan_export import FollowedExports, export_plan
from ralph_tui.engine.core.run_files import AGGREGATE, RUN_STATE, RunFiles
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task

STARTED = ev.LoopStarted(project="x", phase=Phase.BUILDING, run_id="r1", pid=7, model="sonnet")


def finished(status: LoopStatus, reason: str = "") -> Event:
    return ev.LoopFinished(status=status, reason=reason, exit_code=0)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(make_project(tmp_path, [task("a"), task("b")]))


async def after(
    project: Project, *events: Event, wanted: tuple[str, ...] = (RUN_STATE, AGGREGATE)
) -> Any:
    """Return what the files say after these events, by name; None for one that is not there."""
    now = [datetime(2026, 1, 1, tzinfo=UTC)]

    def clock() -> datetime:
        now[0] += timedelta(seconds=1)
        return now[0]

    files = RunFiles(project.layout, wanted, clock)
    for event in events:
        files.note(event)
        assert files.write() == ()
    files.close()
    places = {name: project.layout.dot / name for name in (RUN_STATE, AGGREGATE)}
    return {n: json.loads(p.read_text()) if p.exists() else None for n, p in places.items()}


async def test_nothing_is_written_that_nobody_asked_for(project: Project) -> None:
    assert await after(project, STARTED, wanted=()) == {RUN_STATE: None, AGGREGATE: None}
    found = await after(project, STARTED, wanted=("prd.json", AGGREGATE))
    assert found[RUN_STATE] is None
    assert found[AGGREGATE]["model"] == "sonnet"


@pytest.mark.parametrize(
    ("events", "says"),
    [
        ([finished(LoopStatus.COMPLETE, "done")], {"status": "complete", "last_error": ""}),
        ([finished(LoopStatus.ERROR, "no login")], {"status": "error", "last_error": "no login"}),
        ([finished(LoopStatus.USAGE_LIMIT, "limit")], {"status": "blocked", "last_error": "limit"}),
        ([], {"status": "error", "last_error": "the run was cut short"}),
        (
            [
                ev.StepStarted(step="docs", kind="command"),
                ev.StepFinished(step="docs", kind="command", outcome=StepOutcome.DONE),
                finished(LoopStatus.STOPPED, "stopped by you"),
            ],
            {"status": "blocked", "last_successful_step": "docs", "current_step": ""},
        ),
        (
            [
                ev.IterationStarted(iteration=4, task_id="a", title="Do\x1b[2J it"),
                ev.IterationFinished(
                    iteration=4,
                    task_id="a",
                    outcome=IterationOutcome.FAILED,
                    reason="tests\nfailed",
                ),
                finished(LoopStatus.COMPLETE),
            ],
            {"loop_number": 4, "current_task_id": "a", "last_successful_step": ""},
        ),
    ],
)
async def test_the_end_of_a_run(
    events: list[Event], says: dict[str, object], project: Project
) -> None:
    state = (await after(project, STARTED, *events))[RUN_STATE]
    assert {name: state[name] for name in says} == says
    assert (state["run_id"], state["pid"]) == ("r1", 7)
    assert "\x1b" not in state["current_task"]


async def test_a_wait_is_no_work(project: Project) -> None:
    files = RunFiles(project.layout, (RUN_STATE,))
    files.note(STARTED)
    files.note(ev.LoopPaused())
    files.write()
    assert json.loads((project.layout.dot / RUN_STATE).read_text())["status"] == "blocked"
    files.note(ev.LoopResumed())
    files.write()
    assert json.loads((project.layout.dot / RUN_STATE).read_text())["status"] == "running"


async def test_tokens_and_cost_are_summed(project: Project) -> None:
    def usage(cost: float) -> Event:
        used = TokenUsage(input_tokens=10, output_tokens=3, cache_read_tokens=100)
        costs = CostMeter(session=cost, total=cost + 5)
        return ev.UsageReported(context_tokens=1, context_capacity=9, usage=used, costs=costs)

    found = await after(project, STARTED, usage(0.5), usage(0.75), finished(LoopStatus.COMPLETE))
    metrics = found[AGGREGATE]["metrics"]
    assert metrics["total_claude_calls"] == 2
    assert (metrics["input_tokens"], metrics["output_tokens"]) == (220, 6)
    assert metrics["total_tokens"] == 226
    assert (metrics["total_cost_usd"], metrics["project_cost_usd"]) == (0.75, 5.75)
    assert metrics["elapsed_sec"] > 0


async def test_a_file_that_cannot_be_written_is_told_once_and_stops_nothing(
    project: Project,
) -> None:
    (project.layout.dot / RUN_STATE).mkdir()
    files = RunFiles(project.layout, (RUN_STATE, AGGREGATE))
    complaints: list[str] = []
    for event in (STARTED, finished(LoopStatus.COMPLETE)):
        files.note(event)
        complaints += files.write()
    files.close()
    assert len(complaints) == 1
    assert RUN_STATE in complaints[0]
    assert (project.layout.dot / AGGREGATE).is_file()


def test_prd_json_is_followed_in_ralphs_own_directory(tmp_path: Path) -> None:
    project = Project(make_project(tmp_path))
    prd = project.layout.dot / "prd.json"
    export_plan(project, str(prd), "prd", follow=True)
    assert json.loads(prd.read_text())["userStories"] == []
    plan = Project(make_project(tmp_path / "other", [task("a")])).load().plan
    said: list[str] = []
    FollowedExports(project, said.append).sync(plan)
    assert [story["id"] for story in json.loads(prd.read_text())["userStories"]] == ["a"]
    prd.write_text("mine")
    FollowedExports(project, said.append).sync(plan)
    assert prd.read_text() == "mine"
    assert len(said) == 1
