"""Tasks that no check can verify, on the real CLI: said before anything is spent, allowed by the person, told ever after."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.verification.verification import VerificationOutcome
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import Run, play
from tests.scenario.test_phases import SPEC, plans

ABSENT = ("detected",)
"""In a project that has no tests and no tools that check it."""


def claims(task_id: str, *before: str) -> str:
    turns = "".join(f"        - {turn}\n" for turn in before)
    return f"""
    - name: claims {task_id}
      task: "{task_id}"
      turns:
        - write: {{path: {task_id}.txt, content: "def broken(:"}}
{turns}        - ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED as unverified"}}
          say: Done.
        - when: {{last_result: "NOT YET"}}
          ralph: {{mark_task_blocked: {{task_id: "{task_id}", reason: nothing runs}}}}
    """


@pytest.mark.long
async def test_a_plan_without_checks_starts_only_when_that_is_allowed(tmp_path: Path) -> None:
    prose: dict[str, JsonValue] = {"verification_criteria": ["It is fast"]}
    project = make_project(tmp_path, [task("a", **prose), task("b", **prose)], ABSENT)
    async with serving(scenario(claims("a"), claims("b"))) as server:
        refused = await run_ralph(["build", "--headless", "--yes"], project, server)
        assert refused.status == 3
        assert "2 tasks have no check that can run: a, b." in refused.stderr
        assert "ralph edit a --criterion" in refused.stderr
        assert "--allow-unverified" in refused.stderr
        assert not server.requests, "nothing was spent"
        given = await beside("edit", "b", "--criterion", "$ test -e b.txt", cwd=project)
        assert given.returncode == 0, given.stderr
        fewer = await run_ralph(["build", "--headless"], project, server)
        assert "1 task has no check that can run: a." in fewer.stderr
        await beside("edit", "b", "--criterion", "It is fast", cwd=project)
        assert not server.requests
        words = ["build", "--headless", "--allow-unverified"]
        done = await run_ralph(words, project, server)
        heard = "".join(str(request.body["messages"]) for request in server.requests)
    assert done.status == 0, done.stderr
    assert "ralph: 2 of 2 tasks complete (2 unverified)" in done.stdout
    assert "  Verified: 2 unverified\n" in done.stdout
    assert "all 2 tasks are complete, 2 unverified (a, b)" in done.last_line
    assert "unverified: a, no check could run" in done.stdout
    assert "every check" not in done.stdout + heard
    rests = task_of(project, "a").verification
    assert rests is not None
    assert rests.outcome is VerificationOutcome.UNVERIFIED
    assert "2 complete (2 unverified)" in (await beside("status", cwd=project)).stdout
    told = json.loads((await beside("status", "--json", cwd=project)).stdout)
    assert told["tasks"]["unverified"] == 2
    assert (await beside("tasks", cwd=project)).stdout.count("unverified") == 2
    report = json.loads((await beside("report", "--json", cwd=project)).stdout)
    assert [one["reason"] for one in report["timeline"]] == ["unverified: no check could run"] * 2


ADDS = (
    "ralph: {add_task: {id: c, description: More, priority: 1, dependencies: [], "
    "verification_criteria: [It is pretty]}}"
)


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize("approved", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_the_person_is_asked_about_exactly_these_tasks(
    tmp_path: Path, approved: bool
) -> None:
    project = make_project(tmp_path, [task("a")], ABSENT)

    async def person(run: Run) -> None:
        asked = await run.until_told(ev.ApprovalRequested)
        assert asked.kind is ApprovalKind.UNVERIFIED
        assert asked.summary.startswith("1 task has no check that can run: a. Yes builds")
        Controls(project).decide(approved=approved, by="screen")

    request = RunRequest(only=Phase.BUILDING, interactive=True)
    async with serving(scenario(claims("a", ADDS))) as server:
        run = await play(project, server, request=request, meanwhile=person)
        assert bool(server.requests) is approved
    assert run.end.exit_code == 1
    if not approved:
        assert run.end.reason == "1 task has no check that can run: a"
        assert "ralph edit a --criterion" in run.end.hint
        return
    assert task_of(project, "a").is_unverified
    assert run.end.tasks_unverified == 1
    added = task_of(project, "c")
    assert added.status is TaskStatus.BLOCKED, "nobody agreed to this one"
    assert added.blockers[0].startswith("It has no check that can run. Add one with `ralph edit c ")
    assert len(run.of(ev.IterationStarted)) == 1


@pytest.mark.long
async def test_a_planned_task_without_a_check_is_said_in_the_approval(tmp_path: Path) -> None:
    project = make_project(tmp_path, [], ABSENT, files={"specs/greeter.md": SPEC})

    async def person(run: Run) -> None:
        asked = await run.until_told(ev.ApprovalRequested)
        assert asked.kind is ApprovalKind.PLAN
        assert "1 task has no check that can run: a. It would" in asked.summary
        Controls(project).decide(approved=True, by="screen")

    request = RunRequest(only=Phase.PLANNING, interactive=True)
    async with serving(scenario(plans())) as server:
        run = await play(project, server, request=request, meanwhile=person)
        prompt = str(server.requests[0].body)
    assert run.end.exit_code == 0
    assert task_of(project, "a").may_be_unverified, "the person agreed to what they read"
    assert "a command that can run" in prompt


@pytest.mark.usefixtures("played_cli")
async def test_nobody_agrees_unseen(tmp_path: Path) -> None:
    project = make_project(tmp_path, [], ABSENT, files={"specs/greeter.md": SPEC})
    request = RunRequest(text="more", only=Phase.PLANNING, assume_yes=True)
    async with serving(scenario(plans(), finishes("a"))) as server:
        run = await play(project, server, request=request)
        assert run.end.exit_code == 0
        assert not plan_of(project).tasks[0].may_be_unverified
        with pytest.raises(PlanError, match="1 task has no check that can run: a"):
            await play(project, server, request=RunRequest(assume_yes=True, only=Phase.BUILDING))
