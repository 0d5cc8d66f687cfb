"""Finished work stays finished, on the real CLI: what a later task breaks is found, opened again and repaired."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play
from tests.scenario.test_phases import REQUEST, SPEC


def wants(name: str) -> list[JsonValue]:
    return [f"`{HAS_FILE.format(name=name)}`"]


def works(task_id: str, *, breaks: str = "") -> str:
    removes = f"        - bash: rm -f {breaks}\n" if breaks else ""
    return f"""
    - name: works on {task_id}, {breaks or "nothing"} goes
      task: "{task_id}"
      turns:
        - write: {{path: {task_id}.txt, content: "done"}}
{removes}        - ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}
    """


@pytest.mark.long
async def test_what_a_later_task_breaks_is_opened_again_and_repaired(tmp_path: Path) -> None:
    plan = [
        task("a", verification_criteria=wants("a.txt")),
        task("b", verification_criteria=wants("b.txt")),
    ]
    project = make_project(tmp_path, plan)
    async with serving(scenario(works("a"), works("b", breaks="a.txt"))) as server:
        run = await play(project, server)
        prompts = [
            str(r.body["messages"]) for r in server.requests if "works on a" in str(r.script)
        ]
    assert [e.task_id for e in run.of(ev.IterationStarted)] == ["a", "b", "a"]
    assert (run.end.exit_code, run.end.tasks_complete) == (0, 2)
    repaired = task_of(project, "a")
    assert (repaired.status, repaired.reopened) == (TaskStatus.COMPLETE, 1)
    told = [e.text for e in run.of(ev.Notice)]
    assert "Checking 1 finished task again (1 command)." in told, "b passed with these very files"
    assert any(text.startswith("Reopened the finished task a: `uv run") for text in told)
    assert "passed when this task was complete and fails now after b." in prompts[-1]
    assert "FileNotFoundError" in prompts[-1]


@pytest.mark.long
async def test_tasks_that_undo_each_other_end(tmp_path: Path) -> None:
    plan = [
        task("a", verification_criteria=wants("a.txt")),
        task("b", verification_criteria=wants("b.txt")),
    ]
    project = make_project(tmp_path, plan)
    scripts = scenario(works("a", breaks="b.txt"), works("b", breaks="a.txt"))
    async with serving(scripts) as server:
        run = await play(project, server)
    assert run.end.exit_code == 1
    assert len(run.of(ev.IterationStarted)) == 6
    assert TaskStatus.BLOCKED in {task_of(project, "a").status, task_of(project, "b").status}


@pytest.mark.long
async def test_before_validation_a_broken_task_goes_back_to_building(tmp_path: Path) -> None:
    files = {
        "specs/greeter.md": SPEC,
        ".ralph/state.json": json.dumps({"request": REQUEST, "current_phase": "validation"}),
    }
    broken = task("a", status="complete", verification_criteria=wants("a.txt"))
    project = make_project(tmp_path, [broken], files=files)
    async with serving(scenario(works("a"))) as server:
        off = {"phases.building.recheck_finished": False, "phases.building.max_iterations": 1}
        alone = await play(project, server, request=RunRequest(only=Phase.VALIDATION))
        assert not server.requests, "nothing is spent on validating what is broken"
        assert alone.end.reason == "the check of a finished task fails again"
        assert task_of(project, "a").status is TaskStatus.PENDING
        again = await play(project, server, overrides={"phases.building.max_iterations": 1})
        assert again.end.exit_code == 0
        (project / "a.txt").unlink()
        kept = await play(project, server, overrides=off)
    assert kept.end.exit_code == 0
    assert task_of(project, "a").status is TaskStatus.COMPLETE, "the person switched it off"
