"""What planning again sends and keeps, to the byte; the phases themselves are in `runs/phases.txt`."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import SPEC, plans, scenario
from tests.scenario.running import play


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
