"""The four phases on the real CLI: questions, approvals, refused transitions, and the way back."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, parse_answer
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.run.phase_order import first_phase
from ralph_tui.present.events.event_lines import EventPrinter
from ralph_tui.present.text.status_labels import ITERATION
from ralph_tui.store.project import Project
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, make_project, plan_of, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

REQUEST = "A greeter that says hello"
DISCOVERS = RunRequest(text=REQUEST, only=Phase.DISCOVERY, assume_yes=True)

SPEC = """\
# Greeter

## Problem Statement
Nobody says hello.

## Success Criteria
- Hello is said in under a second

## Constraints
- No network

## Acceptance Criteria
- [ ] a.txt exists
"""

ASK = """
questions:
  - question: Which language?
    header: Language
    multiSelect: false
    options:
      - {label: English, description: Hello}
      - {label: French, description: Bonjour}
"""


def indented(text: str, by: int) -> str:
    return "\n".join(" " * by + line if line else "" for line in text.splitlines())


def discovers(*, asks: bool = False, bad_first: bool = False) -> str:
    """Writes a spec; perhaps asks before, perhaps writes a bad one first."""
    turns = ""
    if asks:
        turns += "    - tools:\n        - name: AskUserQuestion\n          input:\n"
        turns += indented(ASK.strip(), 12) + "\n"
    if bad_first:
        turns += "    - write: {path: specs/greeter.md, content: '# Greeter'}\n"
        turns += "    - say: That is all.\n"
    turns += "    - write:\n        path: specs/greeter.md\n        content: |\n"
    turns += indented(SPEC, 10) + "\n"
    turns += "    - say: The spec is written.\n"
    return f'- name: discovers\n  when: "^# Ralph Discovery Mode"\n  turns:\n{turns}'


def plans(estimated: int = 20_000, *, task_id: str = "a", criterion: str = "a.txt exists") -> str:
    entry = (
        f"{{id: {task_id}, description: Do {task_id}, priority: 1, dependencies: [], "
        f"verification_criteria: [{criterion}], estimated_tokens: {estimated}}}"
    )
    return f"""
    - name: plans {task_id}
      when: "^# Ralph Planning Mode"
      turns:
        - ralph: {{submit_plan: {{tasks: [{entry}]}}}}
        - when: {{last_result: "NOT YET"}}
          ralph: {{submit_plan: {{tasks: [{entry.replace(str(estimated), "20000")}]}}}}
        - say: The plan is handed in.
    """


def report(*, passed: bool, evidence: str = "ls a.txt") -> str:
    finding = f"{{criterion: a.txt exists, passed: {str(passed).lower()}, evidence: {json.dumps(evidence)}}}"
    return f"submit_report: {{specs: [{{spec: greeter.md, criteria: [{finding}]}}], summary: Checked.}}"


def validates(passed: bool = True, *, times: int | None = None) -> str:
    limit = f"times: {times}" if times else "description: ''"
    return f"""
    - name: validates {passed}
      when: "^# Ralph Validation Mode"
      turns:
        - ralph: {{{report(passed=passed)}}}
        - say: The report is handed in.
    """.replace("turns:", f"{limit}\n      turns:" if times else "turns:", 1)


@pytest.mark.costly
async def test_the_whole_way_with_a_question_answered_from_another_process(tmp_path: Path) -> None:
    config = {"phases": {"building": {"baseline": True}}}
    project = make_project(tmp_path, [], [HAS_FILE.format(name="a.txt")], config)
    controls = Controls(project)

    async def person(run: Run) -> None:
        asked = (await run.until_told(ev.QuestionAsked)).question
        assert asked.question.options[1].description == "Bonjour"
        assert asked.phase is Phase.DISCOVERY
        controls.answer(asked.id, parse_answer(asked.question, "2", by="command"))
        for kind in (ApprovalKind.SPECS, ApprovalKind.PLAN, ApprovalKind.VALIDATION):
            await run.until_told(ev.ApprovalRequested, lambda e, k=kind: e.kind is k)  # type: ignore[misc]  # the default binds the loop's value
            controls.decide(approved=True, by="test")

    scripts = scenario(discovers(asks=True), plans(), finishes("a"), validates())
    async with serving(scripts) as server:
        run = await play(
            project, server, request=RunRequest(text=REQUEST, interactive=True), meanwhile=person
        )
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script == "discovers"]
        assert server.unmatched == []
    assert any("French" in text and "Which language?" in text for text in told)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0)
    assert [e.phase for e in run.of(ev.PhaseChanged)] == [
        Phase.PLANNING,
        Phase.BUILDING,
        Phase.VALIDATION,
    ]
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert sum("already failed" in notice.text for notice in run.of(ev.Notice)) == 1
    saved = json.loads((project / ".ralph/validation_report.json").read_text())
    assert saved["specs"][0]["criteria"][0]["evidence"] == "ls a.txt"
    for phase in ("discovery", "planning", "building"):
        assert (project / f".ralph/memory/phases/{phase}.md").exists()
    discovered = (project / ".ralph/memory/phases/discovery.md").read_text()
    assert "## Decisions\n- Which language? The person said: French\n" in discovered
    assert "- Approved: the specs (the person" in discovered
    agreed = (project / ".ralph/memory/phases/planning.md").read_text()
    assert "- Approved: the plan (the person" in agreed
    kept = sorted((project / ".ralph/memory/iterations").iterdir())
    assert [path.read_text().splitlines()[2] for path in kept] == [
        "- Phase: discovery", "- Phase: planning", "- Phase: building", "- Phase: validation",
    ]  # fmt: skip
    used = Project(project).load().budget.iterations
    assert [use.task_id for use in used] == ["discovery", "planning", "a", "validation"]
    history = Project(project).read_sessions()
    assert [(s.phase.value, s.tasks_completed, s.handoff_reason) for s in history] == [
        ("discovery", 0, "phase_complete"),
        ("planning", 0, "phase_complete"),
        ("building", 1, "task_complete"),
        ("validation", 0, "phase_complete"),
    ]
    answered = run.of(ev.QuestionAnswered)[0].question
    assert answered.answer == Answer(labels=("French",), by="command")


@pytest.mark.long
async def test_nobody_there_and_yes_to_everything(tmp_path: Path) -> None:
    project = make_project(
        tmp_path, [], config={"phases": {"validation": {"require_human_approval": False}}}
    )
    request = RunRequest(text=REQUEST, assume_yes=True, no_input=True, interactive=False)
    scripts = scenario(discovers(asks=True), plans(), finishes("a"), validates())
    async with serving(scripts) as server:
        run = await play(project, server, request=request)
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script == "discovers"]
    assert (run.end.reason, run.end.exit_code) == (
        "1 check and 1 acceptance criterion passed",
        0,
    )
    assert not run.of(ev.QuestionAsked)
    assert any("Nobody is there to answer" in text for text in told)


@pytest.mark.usefixtures("played_cli")
async def test_discovery_writes_specs_with_their_sections_and_nothing_else(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    script = discovers(bad_first=True).replace(
        "turns:\n", "turns:\n    - write: {path: main.py, content: x}\n", 1
    )
    change = RunRequest(text="Number the tasks.", only=Phase.PLANNING, assume_yes=True)
    async with serving(scenario(script, plans())) as server:
        run = await play(project, server, request=DISCOVERS)
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script == "discovers"]
        docs = Project(project).load()
        planned = await play(project, server, request=change)
    assert any("specs/greeter.md lacks" in text for text in told)
    assert run.of(ev.SpecsChecked)[-1].valid == ("greeter.md",)
    assert not (project / "main.py").exists()
    assert len(run.of(ev.ToolDenied)) == 1
    assert run.end.exit_code == 0
    assert first_phase(Project(project), docs, RunRequest()) is Phase.PLANNING, (
        "not discovery again"
    )
    requests = [one.of(ev.LoopStarted)[0].request for one in (run, planned)]
    assert requests == [REQUEST, REQUEST], "feedback on a plan is no request"
    assert docs.state.request == REQUEST


def test_specs_without_a_plan_are_planned(tmp_path: Path) -> None:
    project = Project(make_project(tmp_path, [], files={"specs/greeter.md": SPEC}))
    assert first_phase(project, project.load(), RunRequest()) is Phase.PLANNING
    with pytest.raises(PlanError) as caught:
        first_phase(project, project.load(), RunRequest(only=Phase.BUILDING))
    assert "`ralph plan`" in caught.value.hint


@pytest.mark.long
async def test_a_plan_that_does_not_fit_the_settings_is_sent_back_and_guidance_is_heard(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("old", status="complete")], files={"specs/g.md": SPEC})
    Controls(project).inject("One task is enough.")
    request = RunRequest(only=Phase.PLANNING, assume_yes=True)
    script = plans(90_000).replace("dependencies: []", "dependencies: [old]", 1)
    overrides = {"phases.planning.dependency_analysis": False}
    async with serving(scenario(script)) as server:
        run = await play(project, server, request=request, overrides=overrides)
        told = [json.dumps(r.body["messages"]) for r in server.requests if r.script == "plans a"]
    assert "Leave `dependencies` empty" in told[0]
    assert "(follow it)\\n- One task is enough." in told[0]
    assert "Split it" in told[1]
    assert "order by priority" in told[1]
    assert run.of(ev.InjectionConsumed)[0].iteration == 1
    assert task_of(project, "a").estimated_tokens == 20_000
    assert task_of(project, "a").dependencies == ()
    assert run.end.reason == "planning is done"


@pytest.mark.long
async def test_a_rejected_plan_is_made_again_with_the_feedback(tmp_path: Path) -> None:
    done = task("old", status="complete")
    project = make_project(tmp_path, [done], files={"specs/greeter.md": SPEC})
    controls = Controls(project)

    async def person(run: Run) -> None:
        await run.until_told(ev.ApprovalRequested)
        controls.decide(approved=False, reason="Call it b instead")
        await run.until_told(ev.ApprovalGiven)
        await until(lambda: len(run.of(ev.ApprovalRequested)) == 2, what="the second request")
        controls.decide(approved=True)

    second = plans(task_id="b").replace(
        '"^# Ralph Planning Mode"', '["^# Ralph Planning Mode", "Call it b instead"]'
    )
    async with serving(scenario(second, plans())) as server:
        run = await play(
            project,
            server,
            request=RunRequest(only=Phase.PLANNING, interactive=True),
            meanwhile=person,
        )
    assert [t.id for t in plan_of(project).tasks] == ["old", "b"]
    assert run.end.exit_code == 0
    assert list((project / ".ralph/session_history").glob("plan-*.json"))


@pytest.mark.long
async def test_regenerating_costs_one_request_like_the_first_and_keeps_what_is_done(
    tmp_path: Path,
) -> None:
    done = task("old", status="complete", completion_notes="Done by hand", mine=[1, 2])
    project = make_project(tmp_path, [done], files={"specs/greeter.md": SPEC})
    file = project / ".ralph/implementation_plan.json"
    anew = plans(task_id="b").replace(
        '"^# Ralph Planning Mode"', '["^# Ralph Planning Mode", "Call it b instead"]'
    )
    async with serving(scenario(anew, plans())) as server:
        await play(project, server, request=RunRequest(only=Phase.PLANNING, assume_yes=True))
        planned = file.read_bytes()
        request = RunRequest(text="Call it b instead", only=Phase.PLANNING, assume_yes=True)
        run = await play(project, server, request=request)
        first, second = (
            r.body for r in server.requests
        )  # one each: the accepted plan ends the turn
    assert [e.outcome for e in run.of(ev.IterationFinished)] == [IterationOutcome.COMPLETE]
    assert second["tools"] == first["tools"], "what is cached of the first is read from there"
    more = len(json.dumps(second["messages"])) - len(json.dumps(first["messages"]))
    assert 0 < more < 300, "the feedback, its heading, and a line for each task"
    (archived,) = (project / ".ralph/session_history").glob("plan-*.json")
    assert archived.read_bytes() == planned
    before, after = json.loads(planned)["tasks"], json.loads(file.read_bytes())["tasks"]
    assert json.dumps(after[0]) == json.dumps(before[0])
    assert (after[0]["mine"], [t["id"] for t in after]) == ([1, 2], ["old", "b"])


@pytest.mark.usefixtures("played_cli")
async def test_headless_waits_for_approval_with_status_4_and_resumes(tmp_path: Path) -> None:
    config: dict[str, JsonValue] = {"phases": {"building": {"baseline": True}}}
    project = make_project(tmp_path, [], config=config, files={"specs/greeter.md": SPEC})
    request = RunRequest(only=Phase.PLANNING, interactive=False)
    async with serving(scenario(plans(criterion="$ test -d specs"))) as server:
        run = await play(project, server, request=request)
        asked = Project(project).load().state.approval
        assert asked is not None
        assert "All checks of a pass already" in asked.summary
        assert (run.end.status, run.end.exit_code) == (LoopStatus.WAITING, 4)
        assert "approval of the plan" in run.end.reason
        before = len(server.requests)
        Controls(project).decide(approved=True)
        again = await play(project, server, request=request)
        assert len(server.requests) == before, "nothing is spent on a decision that was made"
    assert again.end.exit_code == 0
    assert Project(project).load().state.current_phase is Phase.BUILDING, "it is agreed to for good"


@pytest.mark.long
async def test_a_plan_that_was_made_anew_is_not_approved_by_what_was_said_of_the_old_one(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("old")], files={"specs/greeter.md": SPEC})
    said = Approval(kind=ApprovalKind.PLAN, summary="1 task", approved=True, decided_by="command")
    Project(project).transact(
        lambda docs: docs.model_copy(
            update={"state": docs.state.model_copy(update={"approval": said})}
        )
    )
    request = RunRequest(text="Call it a", only=Phase.PLANNING, interactive=False)
    async with serving(scenario(plans())) as server:
        run = await play(project, server, request=request)
    assert [t.id for t in plan_of(project).tasks] == ["a"]
    assert (run.end.status, run.end.exit_code) == (LoopStatus.WAITING, 4)


@pytest.mark.long
async def test_a_report_without_evidence_is_refused(tmp_path: Path) -> None:
    project = make_project(
        tmp_path, [task("a", status="complete")], files={"specs/greeter.md": SPEC}
    )
    script = f"""
    - name: validates
      when: "^# Ralph Validation Mode"
      turns:
        - ralph: {{submit_report: {{specs: []}}}}
        - when: {{last_result: "NOT YET"}}
          ralph: {{{report(passed=True, evidence="")}}}
        - ralph: {{{report(passed=True)}}}
        - say: Handed in.
    """
    request = RunRequest(only=Phase.VALIDATION)
    overrides = {"phases.validation.require_human_approval": False}
    async with serving(scenario(script)) as server:
        run = await play(project, server, request=request, overrides=overrides)
        told = "".join(json.dumps(r.body["messages"]) for r in server.requests)
    assert "greeter.md is not in the report" in told
    assert "no evidence for" in told
    assert run.end.exit_code == 0


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize(
    ("criterion", "status", "reason"),
    [
        ("a.txt exists", LoopStatus.WAITING, "approval"),
        ("$ test -f gone.txt", LoopStatus.STOPPED, "test -f gone.txt"),
        ("$ test -f pyproject.toml", LoopStatus.COMPLETE, "1 check"),
    ],
)
async def test_the_models_word_alone_validates_nothing(
    tmp_path: Path, criterion: str, status: LoopStatus, reason: str
) -> None:
    project = make_project(
        tmp_path,
        [task("a", status="complete")],
        [],
        files={"specs/greeter.md": SPEC.replace("a.txt exists", criterion)},
    )
    script = validates().replace("a.txt exists", criterion)
    overrides = {
        "phases.validation.require_human_approval": False,
        "phases.validation.max_rounds": 1,
    }
    async with serving(scenario(script)) as server:
        request = RunRequest(only=Phase.VALIDATION)
        run = await play(project, server, request=request, overrides=overrides)
    assert run.end.status is status, run.end
    assert reason in run.end.reason


@pytest.mark.long
async def test_a_failed_validation_leads_back_to_building(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a", status="complete")],
        files={
            "specs/greeter.md": SPEC,
            ".ralph/state.json": json.dumps({"request": REQUEST, "current_phase": "validation"}),
        },
    )
    scripts = scenario(validates(False, times=1), validates(), finishes("fix-r1-01"))
    overrides = {"phases.validation.require_human_approval": False}
    async with serving(scripts) as server:
        run = await play(project, server, request=RunRequest(), overrides=overrides)
    assert [e.passed for e in run.of(ev.ValidationFinished)] == [False, True]
    assert [e.phase for e in run.of(ev.PhaseChanged)] == [Phase.BUILDING, Phase.VALIDATION]
    assert task_of(project, "fix-r1-01").status is TaskStatus.COMPLETE
    assert run.end.exit_code == 0
    ended = [(e.outcome, e.reason) for e in run.of(ev.IterationFinished)]
    assert ended[0] == (IterationOutcome.SENT_BACK, "1 finding"), "not a success"
    assert ended[-1] == (IterationOutcome.COMPLETE, "the criteria are met")
    sent_back = run.of(ev.IterationFinished)[0]
    shown = "".join(line.text for line in EventPrinter().lines(sent_back))
    assert "↻ iteration 1 sent back: 1 finding" in shown
    report = await run_ralph(["report", "--json"], project)
    assert '"outcome": "sent back",\n      "reason": "1 finding"' in report.stdout
    assert ITERATION[IterationOutcome.SENT_BACK].word == "sent back"


@pytest.mark.long
async def test_a_rejected_result_is_built_again_and_the_end_says_who_approved(
    tmp_path: Path,
) -> None:
    project = make_project(
        tmp_path,
        [task("a", status="complete"), task("rejected-r1", status="complete")],
        files={
            "specs/greeter.md": SPEC,
            ".ralph/state.json": json.dumps({"request": REQUEST, "current_phase": "validation"}),
        },
    )
    controls = Controls(project)

    async def person(run: Run) -> None:
        await run.until_told(ev.ApprovalRequested)
        controls.decide(approved=False, reason="It is not polite", by="screen")
        await until(lambda: len(run.of(ev.ApprovalRequested)) == 2, what="the second request")
        controls.decide(approved=True, by="demo")

    scripts = scenario(validates(), finishes("rejected-r1x"))
    async with serving(scripts) as server:
        run = await play(project, server, request=RunRequest(interactive=True), meanwhile=person)
    assert [e.reason for e in run.of(ev.PhaseChanged)] == [
        "the result was rejected",
        "every task is complete",
    ]
    assert "It is not polite" in task_of(project, "rejected-r1x").description
    assert run.end.reason == "validated and approved by the demo"


@pytest.mark.long
async def test_validation_gives_up_after_its_rounds_and_has_them_again(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a", status="complete")],
        files={
            "specs/greeter.md": SPEC,
            ".ralph/state.json": json.dumps({"request": REQUEST, "current_phase": "validation"}),
        },
    )
    overrides = {
        "phases.validation.max_rounds": 1,
        "phases.validation.require_human_approval": False,
    }
    scripts = scenario(validates(False, times=1), validates(), finishes("fix-r1-01"))
    async with serving(scripts) as server:
        run = await play(project, server, request=RunRequest(), overrides=overrides)
        assert (run.end.status, run.end.exit_code) == (LoopStatus.STOPPED, 1)
        assert "validation failed 1 time" in run.end.reason
        again = await play(project, server, request=RunRequest(), overrides=overrides)
    assert [e.task_id for e in again.of(ev.IterationStarted)] == ["fix-r1-01", "validation"]
    assert again.end.exit_code == 0, "what was found is built first, then there are rounds again"
    assert (project / ".ralph/memory/phases/validation.md").exists()


@pytest.mark.long
@pytest.mark.parametrize("phase", [Phase.VALIDATION, Phase.DISCOVERY, Phase.PLANNING])
async def test_a_phase_that_never_meets_its_criteria_is_not_left(
    tmp_path: Path, phase: Phase
) -> None:
    done = [task("a", status="complete")] if phase is Phase.VALIDATION else []
    specs = {} if phase is Phase.DISCOVERY else {"specs/greeter.md": SPEC}
    state = json.dumps({"request": REQUEST, "current_phase": phase.value})
    project = make_project(tmp_path, done, files={**specs, ".ralph/state.json": state})
    script = """
    - name: idles
      when: "^# Ralph"
      turns:
        - say: I have nothing to hand in.
          repeat: 10
    """
    overrides = {"circuit_breaker.max_consecutive_failures": 2}
    async with serving(scenario(script)) as server:
        run = await play(project, server, request=RunRequest(assume_yes=True), overrides=overrides)
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.INCOMPLETE] * 2
    assert not run.of(ev.PhaseChanged)
    assert run.end.reason.startswith("the circuit breaker opened: 2 failures in a row")


@pytest.mark.long
async def test_a_person_who_is_not_to_be_asked_is_not_asked(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    request = RunRequest(text=REQUEST, only=Phase.DISCOVERY, assume_yes=True, interactive=True)
    overrides = {"phases.discovery.human_in_loop": False}
    async with serving(scenario(discovers(asks=True))) as server:
        run = await play(project, server, request=request, overrides=overrides)
    assert not run.of(ev.QuestionAsked)
    assert run.end.exit_code == 0


async def test_discovery_without_a_request_is_refused_before_the_start(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    async with serving(scenario(discovers())) as server:
        with pytest.raises(PlanError, match="Discovery needs a request"):
            await play(project, server, request=RunRequest(only=Phase.DISCOVERY))
        assert not server.requests


OWN = "# Design\n\nWritten by the person, in their own form.\n"


@pytest.mark.usefixtures("played_cli")
async def test_the_persons_own_specs_are_neither_asked_for_nor_removed(tmp_path: Path) -> None:
    own = {f"docs/specs/{name}.md": OWN for name in ("design", "greeter-notes")}
    config = {"project": {"specs": "docs/specs"}}
    project = make_project(tmp_path, [], config=config, files=own)
    script = discovers().replace("specs/greeter.md", "docs/specs/greeter.md")
    tries = "    - write: {path: docs/specs/design.md, content: changed}\n"
    script = script.replace("  turns:\n", f"  turns:\n{tries}", 1)
    async with serving(scenario(script)) as server:
        run = await play(project, server, request=DISCOVERS)
    assert run.end.exit_code == 0, run.end
    assert [r.script for r in server.requests].count("discovers") == 3, "nobody was told to rewrite"
    assert (project / "docs/specs/design.md").read_text(encoding="utf-8") == OWN
    checked = run.of(ev.SpecsChecked)
    assert checked[-1].valid == ("greeter.md",)
    assert not checked[-1].problems
    reset = await beside("reset", "--yes", cwd=project)
    assert "removed  docs/specs/greeter.md" in reset.stdout
    assert "yours, kept  docs/specs/ (2 files)" in reset.stdout
    assert sorted(p.name for p in (project / "docs/specs").iterdir()) == [
        "design.md",
        "greeter-notes.md",
    ]


@pytest.mark.usefixtures("played_cli")
async def test_a_second_request_that_was_interrupted_is_discovered(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    asking = discovers(asks=True).replace("name: discovers", "name: asks\n  times: 1")
    second = discovers().replace("name: discovers", "name: second")
    second = second.replace("specs/greeter.md", "specs/louder.md")
    first = discovers().replace("name: discovers", "name: first\n  times: 1")
    async with serving(scenario(first, asking, second)) as server:
        assert (await play(project, server, request=DISCOVERS)).end.exit_code == 0
        cut = await play(project, server, request=RunRequest(text="Shout it"))
        assert cut.end.exit_code == 4, cut.end
        asked = Controls(project).open_questions()[0].id
        answered = await beside("answer", asked, "2", cwd=project)
        assert answered.returncode == 0, answered.stdout + answered.stderr
        planned = await beside("run", "--dry-run", cwd=project)
        assert "A session turns the request into specs" in planned.stdout
        run = await play(project, server, request=RunRequest())
    assert run.end.exit_code == 4, "the new specs wait for the approval"
    assert "second" in [r.script for r in server.requests]
    assert (project / "specs/louder.md").is_file()
