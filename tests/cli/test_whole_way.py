"""The whole way without a screen and without a terminal, through the real program."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain.project_state import Phase
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import event_types, make_project, plan_of, task
from tests.harness.real_processes import ralph_running, run_ralph
from tests.harness.scenarios import scenario
from tests.harness.waiting import until
from tests.scenario.test_phases import REQUEST, SPEC, discovers, plans, validates


@pytest.mark.long
async def test_a_request_and_its_answers_from_files(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    (tmp_path / "answers.yaml").write_text("Language: french\n", encoding="utf-8")
    (tmp_path / "request.md").write_text(REQUEST, encoding="utf-8")
    async with serving(scenario(discovers(asks=True))) as server:
        words = ["discover", "@../request.md", "--headless", "--answers", "../answers.yaml"]
        done = await run_ralph([*words, "--yes"], project, server)
    assert done.status == 0, done.stderr
    assert "Language: French (by file)" in done.stdout
    assert "approval of the specs given · by --yes" in done.stdout
    assert Project(project).load().state.request == REQUEST


@pytest.mark.long
async def test_an_approval_over_status_4(tmp_path: Path) -> None:
    state = json.dumps({"request": REQUEST, "current_phase": "validation"})
    files = {"specs/greeter.md": SPEC, "a.txt": "done\n", ".ralph/state.json": state}
    project = make_project(tmp_path, [task("a", status="complete")], files=files)
    async with serving(scenario(validates())) as server:
        waiting = await run_ralph(["run", "--headless", "--yes"], project, server)
        assert waiting.status == 4, waiting.stderr
        assert waiting.last_line.startswith(
            "ralph: waiting for approval of the validation. Decide with `ralph approve`"
        )
        status = await run_ralph(["status"], project)
        assert "needed, of the validation" in status.stdout
        assert (await run_ralph(["approve"], project)).status == 0
        done = await run_ralph(["run", "--json"], project, server)
    last = json.loads(done.last_line)
    assert (done.status, last["exit_code"], last["status"]) == (0, 0, "complete")


@pytest.mark.long
async def test_a_question_without_a_terminal_is_answered_from_another(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    scripts = scenario(discovers(asks=True))
    async with serving(scripts) as server:
        words = ["discover", REQUEST, "--headless", "--yes", "--wait"]
        async with ralph_running(words, project, server) as running:
            await until(lambda: "question_asked" in event_types(project), what="the question")
            listed = await run_ralph(["answer"], project)
            question_id = listed.stdout.split()[0]
            answered = await run_ralph(["answer", question_id, "2"], project)
            assert answered.stdout == "Language: answered: French\n"
            done = await running.finished()
    assert done.status == 0, done.stderr
    assert f"answer from anywhere: ralph answer {question_id} TEXT" in done.stdout
    assert "Language: French (by command)" in done.stdout


@pytest.mark.long
async def test_a_plan_made_again(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], files={"specs/greeter.md": SPEC})
    anew = plans(task_id="b").replace(
        '"^# Ralph Planning Mode"', '["^# Ralph Planning Mode", "Call it b"]'
    )
    async with serving(scenario(anew)) as server:
        words = ["regenerate-plan", "Call it b", "--headless", "--yes"]
        again = await run_ralph(words, project, server)
        assert (again.status, [t.id for t in plan_of(project).tasks]) == (0, ["b"])
        models = {str(r.body["model"]) for r in server.requests if r.script}
    assert all("opus" in model for model in models)
    assert len(list((project / ".ralph/session_history").glob("plan-*.json"))) == 1
    assert Project(project).load().state.current_phase is Phase.BUILDING
