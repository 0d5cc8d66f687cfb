"""What the person decides counts, and for exactly what they were shown; on the real CLI."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.store.project import Project
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, plan_of, task
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play
from tests.scenario.test_phases import REQUEST, SPEC, plans, validates

TOO_LARGE = "One task a day is enough"

CUT = """
- name: cut off
  when: ["^# Ralph Planning Mode", "One task a day is enough"]
  times: 1
  turns:
    - say: Hello.
      fault: {kind: status, status: 401, times: forever}
"""

ONE_BY_ONE = """
- name: adds one by one
  when: ["^# Ralph Planning Mode", "One task a day is enough"]
  turns:
    - ralph: {add_task: {id: b, description: Do b, priority: 1, verification_criteria: [ok], estimated_tokens: 20000}}
    - ralph: {add_task: {id: c, description: Do c, priority: 2, verification_criteria: [ok], estimated_tokens: 20000}}
    - say: Both are in the plan.
"""

PLAN_ONLY = RunRequest(only=Phase.PLANNING)


@pytest.mark.long
async def test_a_plan_that_is_rejected_or_undecided_is_not_built(tmp_path: Path) -> None:
    project = make_project(tmp_path, [], files={"specs/greeter.md": SPEC})
    controls = Controls(project)
    scripts = scenario(CUT, ONE_BY_ONE, plans(), finishes("b"), finishes("c"))
    async with serving(scripts) as server:
        assert (await play(project, server, request=PLAN_ONLY)).end.exit_code == 4
        spent = len(answered(server))
        for undecided in (RunRequest(), RunRequest(only=Phase.BUILDING)):
            assert (await play(project, server, request=undecided)).end.exit_code == 4
        assert len(answered(server)) == spent, "nothing is spent on what nobody agreed to"

        controls.decide(approved=False, reason=TOO_LARGE)
        refused = await play(project, server, request=RunRequest(only=Phase.BUILDING))
        assert (refused.end.status, refused.end.exit_code) == (LoopStatus.STOPPED, 1)
        assert f"the plan was rejected: {TOO_LARGE}" in refused.end.reason
        failed = await play(project, server, request=RunRequest())
        assert failed.end.exit_code == 3
        assert "a" in [t.id for t in plan_of(project).tasks]
        replanned = await play(project, server, request=RunRequest())
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script[:4] == "adds"]
    assert TOO_LARGE in told[0], "also after a session that came to nothing"
    assert (replanned.end.status, replanned.end.exit_code) == (LoopStatus.WAITING, 4)
    assert [(t.id, t.status) for t in plan_of(project).tasks] == [
        ("b", "pending"),
        ("c", "pending"),
    ]
    assert not (project / "a.txt").exists()


@pytest.mark.long
async def test_an_approved_plan_is_built_and_a_changed_one_is_asked_about_again(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [], files={"specs/greeter.md": SPEC})
    controls = Controls(project)
    overrides = {"phases.validation.require_human_approval": False}
    async with serving(scenario(plans(), finishes("a"), validates())) as server:
        await play(project, server, request=PLAN_ONLY)
        controls.decide(approved=True)
        file = project / ".ralph/implementation_plan.json"
        file.write_text(file.read_text().replace("Do a", "Do a and more"))
        asked = await play(project, server, request=RunRequest())
        assert asked.end.exit_code == 4
        assert "Since you approved it: task a changed" in asked.of(ev.ApprovalRequested)[0].summary
        assert not (project / "a.txt").exists()
        controls.decide(approved=True)
        built = await play(project, server, request=RunRequest(), overrides=overrides)
    assert built.end.exit_code == 0, built.end.reason
    assert (project / "a.txt").exists()


@pytest.mark.long
async def test_an_approved_result_is_done_without_another_session(tmp_path: Path) -> None:
    state = {"request": REQUEST, "current_phase": "validation"}
    project = make_project(
        tmp_path,
        [task("a", status="complete")],
        files={"specs/greeter.md": SPEC, ".ralph/state.json": json.dumps(state)},
    )
    controls = Controls(project)
    async with serving(scenario(validates(), finishes("rejected-r1"))) as server:
        first = await play(project, server, request=RunRequest())
        spent = len(answered(server))
        assert (first.end.exit_code, spent > 0) == (4, True)
        assert (await play(project, server, request=RunRequest())).end.exit_code == 4
        controls.decide(approved=True, by="command")
        for _ in range(2):
            done = await play(project, server, request=RunRequest())
            assert (done.end.exit_code, done.of(ev.ValidationFinished)) == (0, [])
            assert done.end.reason == "validated and approved by the person, with a command"
        assert len(answered(server)) == spent

        (project / "later.txt").write_text("added after the approval")
        asked = await play(project, server, request=RunRequest())
        (request,) = asked.of(ev.ApprovalRequested)
        assert (asked.end.exit_code, request.kind) == (4, ApprovalKind.VALIDATION)
        assert "Since you approved it: the report changed, the project's files changed" in (
            request.summary
        )
        notices = [e.text for e in asked.of(ev.Notice)]
        assert any(text.startswith("Validating again. Changed since you") for text in notices)

        controls.decide(approved=False, reason="later.txt must go")
        spent = len([r for r in server.requests if r.script.startswith("validates")])
        built = await play(project, server, request=RunRequest(only=Phase.BUILDING))
        assert spent == len([r for r in server.requests if r.script.startswith("validates")])
    assert "later.txt must go" in plan_of(project).tasks[-1].description
    assert plan_of(project).is_finished, built.end.reason
    assert Project(project).load().state.decision is None
