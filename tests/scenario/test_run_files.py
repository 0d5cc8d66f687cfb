"""A real run keeps the files current that other tools were promised, and leaves a hand edit alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play

ALL = {"exports": ("prd.json", "run_state.json", "aggregate.json")}


def told(project: Path, name: str) -> Any:
    return json.loads((project / ".ralph" / name).read_text())


def passes(project: Path) -> dict[str, bool]:
    return {story["id"]: story["passes"] for story in told(project, "prd.json")["userStories"]}


@pytest.mark.usefixtures("played_cli")
async def test_three_files_are_current_during_a_run_and_after_it(tmp_path: Path) -> None:
    project = make_project(
        tmp_path, [task("a"), task("b", verification_criteria=[f"$ {WAITS_FOR_GO}"])]
    )
    edited = ""

    async def looks(run: Run) -> None:
        nonlocal edited
        await run.until_told(
            ev.TaskChanged, lambda e: (e.task.id, e.task.status) == ("a", TaskStatus.COMPLETE)
        )
        assert passes(project) == {"a": True, "b": False}
        await run.until_told(ev.IterationStarted, lambda e: e.task_id == "b")
        await until(
            lambda: told(project, "run_state.json")["current_task_id"] == "b",
            what="the second task",
        )
        state = told(project, "run_state.json")
        assert (state["status"], state["current_step"], state["loop_number"]) == (
            "running",
            "work",
            2,
        )
        assert state["last_successful_step"] == "work"
        assert told(project, "aggregate.json")["metrics"]["output_tokens"] > 0
        edited = (project / ".ralph" / "prd.json").read_text().replace('"Plan"', '"Mine"')
        (project / ".ralph" / "prd.json").write_text(edited)
        let_go(project)

    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server, meanwhile=looks, overrides=ALL)
    assert run.end.exit_code == 0
    state, used = told(project, "run_state.json"), told(project, "aggregate.json")
    (started,) = run.of(ev.LoopStarted)
    assert (state["status"], state["run_id"], state["last_error"]) == (
        "complete",
        started.run_id,
        "",
    )
    metrics = used["metrics"]
    assert used["version"].startswith("ralph-tui ")
    assert used["model"]
    assert metrics["total_tokens"] == metrics["input_tokens"] + metrics["output_tokens"]
    assert metrics["total_claude_calls"] == len(run.of(ev.UsageReported))
    assert metrics["total_cost_usd"] == run.end.cost_usd > 0
    assert metrics["completed_at"] >= metrics["started_at"]
    assert (project / ".ralph" / "prd.json").read_text() == edited
    assert len([e for e in run.of(ev.Notice) if "prd.json was edited" in e.text]) == 1
