"""`--once`: one iteration with its steps, and a status that says whether its task is complete."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import OwnPrompt, RunRequest
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import claims_in_vain, finishes, scenario
from tests.scenario.running import play

ONCE = RunRequest(only=Phase.BUILDING, once=True)
STEPS = {"steps": {"work": {}, "note": {"type": "command", "run": "echo done >>noted"}}}


@pytest.mark.long
async def test_a_complete_task_is_status_0_and_the_next_one_waits(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], config=STEPS)
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server, request=RunRequest(once=True))
        assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0)
        assert run.end.reason == "task a is complete, and --once ends the run after one iteration"
        assert [task_of(project, name).status for name in "ab"] == [
            TaskStatus.COMPLETE,
            TaskStatus.PENDING,
        ]
        assert (project / "noted").read_text(encoding="utf-8") == "done\n"
        last = await play(project, server, request=ONCE)
    assert (last.end.reason, last.end.exit_code) == ("all 2 tasks are complete", 0)
    assert last.end.iterations == 1


@pytest.mark.long
async def test_an_open_task_is_status_1(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], backpressure=["false"])
    own = OwnPrompt("Only this: {{task.id}}\n", "own.md")
    async with serving(scenario(claims_in_vain("a"))) as server:
        run = await play(
            project, server, request=RunRequest(only=Phase.BUILDING, once=True, prompt=own)
        )
        assert "Only this: a" in str(server.requests[-1])
    assert (run.end.status, run.end.exit_code, run.end.iterations) == (LoopStatus.STOPPED, 1, 1)
    assert run.end.reason.startswith("task a is not complete: ")
    assert len(run.of(ev.IterationStarted)) == 1


async def test_there_is_no_task_without_a_plan(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(RalphError, match="the next phase is discovery"):
            await play(project, server, request=RunRequest(text="A tracker", once=True))
        assert not server.requests
    assert not Project(project).load().state.request


async def test_a_wrong_place_in_the_own_prompt_is_found_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")])
    wrong = RunRequest(only=Phase.BUILDING, prompt=OwnPrompt("Hello\n{{task.name}}\n", "own.md"))
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(RalphError, match=r"own\.md, line 2: there is no place"):
            await play(project, server, request=wrong)
        assert not server.requests
