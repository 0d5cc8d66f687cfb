"""A person and other programs act on a loop that runs."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.engine.control.controls import Controls
from tests.cli.processes import inside
from tests.harness.model import serving
from tests.harness.projects import ALWAYS_GREEN, make_project, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play

HELD = {"safety.sandbox": "required"}
"""No command can write ralph's documents, so that an edit at any time is the person's."""


async def ralph(project: Path, *args: str) -> None:
    ran = await run_ralph(args, project)
    assert ran.status == 0, ran.stderr


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
async def test_an_edit_that_is_not_valid_is_named_and_set_aside_when_the_plan_is_written(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    plan = project / ".ralph" / "implementation_plan.json"
    foreign = json.dumps({"tasks": [task("late", acceptanceCriteria=[ALWAYS_GREEN])]})

    async def editor(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: "mark_task_complete" in e.name)
        plan.write_text(foreign)
        named = await run.until_told(ev.Notice, lambda e: "'acceptanceCriteria'" in e.text)
        assert "Until then, ralph uses the last valid version." in named.text
        assert plan.read_text() == foreign
        let_go(project)  # the claim is accepted, and the plan is written

    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
    assert run.end.reason == "the only task is complete"
    (aside,) = plan.parent.glob("*.corrupt-*")
    assert aside.read_text() == foreign
    assert any(f"set aside as {aside.name}" in e.text for e in run.of(ev.Notice))


def test_nothing_to_pause_is_said_plainly(tmp_path: Path) -> None:
    ran = inside("pause", cwd=make_project(tmp_path, [task("a")]))
    assert ran.returncode == 3
    assert "No loop is running" in ran.stderr


@pytest.mark.usefixtures("played_cli")
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
    assert not (project / ".ralph/injections.json").read_text().strip()
    assert run.end.exit_code == 0
