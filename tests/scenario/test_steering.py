"""A person and other programs act on a loop that runs."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Adjusted
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.run_settings import adjust
from tests.harness.model import serving
from tests.harness.projects import ALWAYS_GREEN, make_project, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play
from tests.scenario.test_trouble import once

HELD = {"safety.sandbox": "required"}
"""No command can write ralph's documents, so that an edit at any time is the person's."""


async def ralph(project: Path, *args: str) -> None:
    ran = await run_ralph(args, project)
    assert ran.status == 0, ran.stderr


async def test_pause_now_and_resume_from_another_process(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await ralph(project, "pause")
        await run.until_told(ev.PauseRequested)
        await ralph(project, "pause")
        await run.until_told(ev.LoopPaused)
        assert task_of(project, "a").status is TaskStatus.PENDING
        await ralph(project, "resume")

    async with serving(scenario(once(works_forever("a")), finishes("a"))) as server:
        run = await play(project, server, meanwhile=person)
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.INTERRUPTED, IterationOutcome.COMPLETE]
    assert [e.now for e in run.of(ev.PauseRequested)] == [False, True]
    assert task_of(project, "a").retry_count == 0
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_a_pause_waits_for_the_iteration(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], [WAITS_FOR_GO])

    async def person(run: Run) -> None:
        await run.until_told(ev.SessionStarted)
        await ralph(project, "pause")
        await run.until_told(ev.PauseRequested)
        assert not run.of(ev.LoopPaused)
        let_go(project)
        await run.until_told(ev.LoopPaused)
        assert task_of(project, "a").status is TaskStatus.COMPLETE
        assert task_of(project, "b").status is TaskStatus.PENDING
        await ralph(project, "resume")

    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server, meanwhile=person)
    assert run.end.exit_code == 0
    kinds = [e.type for e in run.events]
    assert kinds.index("loop_paused") < kinds.index("loop_resumed")


@pytest.mark.long
async def test_skip_from_another_process(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await ralph(project, "skip", "a")

    async with serving(scenario(works_forever("a"), finishes("b"))) as server:
        run = await play(project, server, meanwhile=person)
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.SKIPPED, IterationOutcome.COMPLETE]
    assert task_of(project, "a").status is TaskStatus.BLOCKED
    assert task_of(project, "a").retry_count == 0
    assert "1 task blocked: a" in run.end.reason


@pytest.mark.long
async def test_hold_from_another_process_and_a_model_for_one_task(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b"), task("c")])

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await ralph(project, "edit", "b", "--model", "opus")
        await ralph(project, "hold", "a")

    async with serving(scenario(works_forever("a"), finishes("b"), finishes("c"))) as server:
        run = await play(project, server, meanwhile=person)
        models = {r.script: str(r.body["model"]) for r in server.requests if r.turn == 0}
    assert task_of(project, "a").is_held
    assert task_of(project, "a").retry_count == 0
    assert run.end.reason == "no task is ready. 1 task on hold: a"
    assert "ralph release" in run.end.hint
    assert "opus" in models["finishes b"]
    assert "opus" not in models["finishes c"]


@pytest.mark.long
async def test_guidance_reaches_the_next_iteration_once(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b"), task("c")], [WAITS_FOR_GO])
    words = "Prefer the standard library, whatever it costs."

    async def person(run: Run) -> None:
        await run.until_told(ev.SessionStarted)
        await ralph(project, "inject", words)
        queued = await run.until_told(ev.InjectionQueued)
        assert queued.text == words
        let_go(project)

    async with serving(scenario(finishes("a"), finishes("b"), finishes("c"))) as server:
        run = await play(project, server, meanwhile=person)
        prompts = {r.script: json.dumps(r.body["messages"]) for r in server.requests if r.turn == 0}
    assert words in prompts["finishes b"]
    assert words not in prompts["finishes c"]
    assert run.of(ev.InjectionConsumed)[0].iteration == 2
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_limits_and_model_change_while_the_loop_runs(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b"), task("c")], [WAITS_FOR_GO])

    async def person(run: Run) -> None:
        await run.until_told(ev.SessionStarted)
        adjust(project, Adjusted(max_iterations=2, model="opus"))
        changed = await run.until_told(ev.LimitsChanged)
        assert changed.adjusted.max_iterations == 2
        let_go(project)

    async with serving(scenario(finishes("a"), finishes("b"), finishes("c"))) as server:
        limit = {"phases.building.max_iterations": 1}
        run = await play(project, server, meanwhile=person, overrides=limit)
        models = {r.script: str(r.body["model"]) for r in server.requests if r.turn == 0}
    assert run.end.reason == "the run reached its maximum of 2 iterations"
    assert "opus" not in models["finishes a"]
    assert "opus" in models["finishes b"]


async def test_stop_now_ends_the_turn_and_puts_the_task_back(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await ralph(project, "stop", "--now")

    async with serving(scenario(works_forever("a"))) as server:
        run = await play(project, server, meanwhile=person)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.INTERRUPTED, 130)
    assert run.end.reason == "stopped on request"
    assert task_of(project, "a").status is TaskStatus.PENDING


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_tasks_written_into_the_plan_meanwhile_are_worked(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    plan = project / ".ralph" / "implementation_plan.json"

    async def editor(run: Run) -> None:
        await run.until_told(ev.SessionStarted)
        data = json.loads(plan.read_text())
        data["tasks"].append(task("late", note="kept"))
        plan.write_text(json.dumps(data))
        await run.until_told(ev.TaskChanged, lambda e: e.task.id == "late")
        let_go(project)

    async with serving(scenario(finishes("a"), finishes("late"))) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
    assert run.end.reason == "all 2 tasks are complete"
    kept = next(t for t in json.loads(plan.read_text())["tasks"] if t["id"] == "late")
    assert kept["note"] == "kept"


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_an_edit_that_is_not_valid_is_named_and_the_run_waits_for_its_correction(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    plan = project / ".ralph" / "implementation_plan.json"

    async def editor(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: "mark_task_complete" in e.name)
        tasks = json.loads(plan.read_text())["tasks"]
        tasks.append(task("late", acceptanceCriteria=[ALWAYS_GREEN]))
        foreign = json.dumps({"tasks": tasks})
        plan.write_text(foreign)
        named = await run.until_told(ev.Notice, lambda e: "'acceptanceCriteria'" in e.text)
        assert "Until then, ralph uses the last valid version." in named.text
        let_go(project)  # the claim is accepted, and the plan is to be written
        await run.until_told(ev.GateFinished)
        assert plan.read_text() == foreign
        comma = foreign.replace("acceptanceCriteria", "verification_criteria").replace(
            "}]}", "},]}"
        )
        plan.write_text(comma)
        await run.until_told(ev.FilesUnfinished, lambda e: e.names == (plan.name,))
        assert plan.read_text() == comma
        plan.write_text(comma.replace(",]}", "]}"))

    async with serving(scenario(finishes("a"), finishes("late"))) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
    assert run.end.reason == "all 2 tasks are complete"
    assert not list(plan.parent.glob("*.corrupt-*"))


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_the_running_task_is_renamed_and_reworded_by_an_editor(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b", dependencies=["a"])], [ALWAYS_GREEN])
    plan = project / ".ralph" / "implementation_plan.json"

    async def editor(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: e.name == "Bash")
        data = json.loads(plan.read_text())
        data["tasks"][0] |= {"id": "better", "description": "Do it in Rust"}
        data["tasks"][1]["dependencies"] = ["better"]
        plan.write_text(json.dumps(data))
        await run.until_told(
            ev.Notice, lambda e: "was changed while the agent works on it" in e.text
        )
        let_go(project)

    script = f"""
    - name: hears of it
      when: "^Task ID: a$"
      turns:
        - bash: {json.dumps(WAITS_FOR_GO)}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: x}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    async with serving(scenario(script, finishes("b"))) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
        heard = json.dumps(server.requests[1].body["messages"])
    assert "Do it in Rust" in heard, "with the result of the command that ran meanwhile"
    assert run.end.reason == "all 2 tasks are complete"
    assert [e.task_id for e in run.of(ev.IterationFinished)] == ["better", "b"]
    assert (task_of(project, "better").actual_cost_usd or 0) > 0


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_what_the_running_task_is_to_wait_for_is_worked_first(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    plan = project / ".ralph" / "implementation_plan.json"

    async def editor(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        data = json.loads(plan.read_text())
        data["tasks"][0]["dependencies"] = ["b"]
        plan.write_text(json.dumps(data))

    scripts = (once(works_forever("a")), finishes("a"), finishes("b"))
    async with serving(scenario(*scripts)) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
    ended = [(e.task_id, e.outcome.value) for e in run.of(ev.IterationFinished)]
    assert ended == [("a", "skipped"), ("b", "complete"), ("a", "complete")]
    assert run.of(ev.IterationFinished)[0].reason.endswith("withdrawn: it waits for b now")
    assert task_of(project, "a").retry_count == 0


async def test_nothing_to_pause_is_said_plainly(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    ran = await run_ralph(["pause"], project)
    assert ran.status == 3
    assert "No loop is running" in ran.stderr
    assert "Traceback" not in ran.stderr


async def test_guidance_for_now_steers_the_running_turn(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    words = "Say it in French."

    async def person(run: Run) -> None:
        await run.until_told(ev.GateStarted)
        Controls(project).inject(words, now=True)
        consumed = await run.until_told(ev.InjectionConsumed)
        assert consumed.iteration == 1
        let_go(project)

    script = """
    - name: listens
      when: "^Task ID: a$"
      turns:
        - ralph: {mark_task_complete: {task_id: a, verification_notes: x}}
        - say: Bien.
    """
    async with serving(scenario(script)) as server:
        run = await play(project, server, meanwhile=person)
    assert run.end.exit_code == 0
    assert not (project / ".ralph/injections.json").read_text().strip()


@pytest.mark.long
async def test_a_steered_turn_hears_the_words(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    words = "Say it in French."

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: e.name == "Bash")
        Controls(project).inject(words, now=True)
        await run.until_told(ev.InjectionConsumed)
        (project / "go").touch()

    script = f"""
    - name: listens
      when: "^Task ID: a$"
      turns:
        - bash: {json.dumps(WAITS_FOR_GO)}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: x}}}}
        - say: Bien.
    """
    async with serving(scenario(script)) as server:
        run = await play(project, server, meanwhile=person)
        heard = [json.dumps(r.body["messages"]) for r in server.requests if r.turn == 1]
    assert words in heard[-1]
    assert run.end.exit_code == 0
