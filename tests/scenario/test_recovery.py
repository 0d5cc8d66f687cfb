"""What happens when the breaker opens: a new plan, a try the person allows, or the end."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import BreakerState
from ralph_tui.domain.state import ApprovalKind, Phase
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.mission import Mission
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of, task
from tests.harness.scenarios import finishes, scenario, stops_without_claim
from tests.scenario.running import Run, play
from tests.scenario.test_phases import SPEC, plans, validates

pytestmark = pytest.mark.real_cli


async def test_the_person_lets_one_more_iteration_try(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    controls = Controls(project)

    async def person(run: Run) -> None:
        asked = await run.until_told(ev.ApprovalRequested)
        assert asked.kind is ApprovalKind.RECOVERY
        assert "failures 2/2" in asked.summary
        controls.decide(approved=True)

    first = stops_without_claim("a").replace("turns:", "times: 2\n      turns:", 1)
    mission = Mission(only=Phase.BUILDING, interactive=True)
    overrides = {"circuit_breaker.max_consecutive_failures": 2}
    async with serving(scenario(first, finishes("a"), finishes("b"))) as server:
        run = await play(project, server, mission=mission, overrides=overrides, meanwhile=person)
    states = [e.breaker.state for e in run.of(ev.BreakerChanged)]
    assert states[1:4] == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]
    assert run.end.exit_code == 0


async def test_a_plan_that_stands_still_is_made_anew(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("stuck")],
        files={"specs/greeter.md": SPEC, ".ralph/state.json": '{"request": "x"}'},
    )
    overrides = {
        "circuit_breaker.max_stagnation_iterations": 2,
        "phases.validation.require_human_approval": False,
    }
    scripts = scenario(stops_without_claim("stuck"), plans(), finishes("a"), validates())
    async with serving(scripts) as server:
        run = await play(project, server, mission=Mission(assume_yes=True), overrides=overrides)
    phases = [e.phase for e in run.of(ev.PhaseChanged)]
    assert phases == [Phase.PLANNING, Phase.BUILDING, Phase.VALIDATION]
    assert [t.id for t in plan_of(project).tasks] == ["a"]
    assert run.end.exit_code == 0
