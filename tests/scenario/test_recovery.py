"""What happens when the breaker opens: a new plan, a try the person allows, or the end."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of, task
from tests.harness.scenarios import finishes, scenario, stops_without_claim
from tests.scenario.running import Run, play
from tests.scenario.test_phases import SPEC, plans, validates


@pytest.mark.long
async def test_the_person_lets_one_more_iteration_try(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    controls = Controls(project)

    async def person(run: Run) -> None:
        asked = await run.until_told(ev.ApprovalRequested)
        assert asked.kind is ApprovalKind.RECOVERY
        assert "1 failure in a row" in asked.summary
        controls.decide(approved=True)

    first = stops_without_claim("a").replace("turns:", "times: 1\n      turns:", 1)
    request = RunRequest(only=Phase.BUILDING, interactive=True)
    overrides = {"circuit_breaker.max_consecutive_failures": 1}
    async with serving(scenario(first, finishes("a"), finishes("b"))) as server:
        run = await play(project, server, request=request, overrides=overrides, meanwhile=person)
    states = [e.breaker.state for e in run.of(ev.BreakerChanged) if not e.breaker.is_cooling]
    assert states[:3] == [BreakerState.OPEN, BreakerState.HALF_OPEN, BreakerState.CLOSED]
    assert run.end.exit_code == 0


@pytest.mark.long
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
        run = await play(project, server, request=RunRequest(assume_yes=True), overrides=overrides)
    phases = [e.phase for e in run.of(ev.PhaseChanged)]
    assert phases == [Phase.PLANNING, Phase.BUILDING, Phase.VALIDATION]
    assert [t.id for t in plan_of(project).tasks] == ["a"]
    assert run.end.exit_code == 0


def limited(times: int = 1) -> str:
    """A session that meets a usage limit at once, so many times."""
    return f"""
    - name: limited
      when: "^Task ID: a$"
      times: {times}
      turns:
        - say: Hello.
          fault: {{kind: status, status: 429, retry_after: 3600, times: forever}}
    """


@pytest.mark.costly
async def test_a_usage_limit_is_waited_out_and_costs_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    overrides = {"limits.on_usage_limit": "wait", "limits.fallback_wait_minutes": 0.02}
    async with serving(scenario(limited(), finishes("a"))) as server:
        run = await play(project, server, overrides=overrides)
    assert run.end.exit_code == 0
    assert len(run.of(ev.LimitWait)) == 1
    assert [e.hint for e in run.of(ev.AgentFailed)] == [""], "it goes on by itself"
    assert run.of(ev.LimitWaitEnded)[0].why == "the wait is over"
    assert [e.iteration for e in run.of(ev.IterationStarted)] == [1, 1], "it was no iteration"
    assert run.end.iterations == 1
    assert all(e.breaker.failure_count == 0 for e in run.of(ev.BreakerChanged))


def turns_it(number: int, value: str) -> str:
    return f"""
    - name: turns it to {value}, {number}
      task: a
      times: 1
      turns:
        - write: {{path: switch.txt, content: "{value}"}}
        - say: That is how it should be.
        - when: {{user: Stop hook feedback}}
          say: I have nothing to add.
    """


@pytest.mark.long
async def test_a_loop_that_goes_round_in_circles_says_what_it_saw(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], files={"switch.txt": "off"})
    scripts = [turns_it(number, value) for number, value in enumerate(("on", "off", "on"))]
    overrides = {"circuit_breaker.max_consecutive_failures": 0}
    async with serving(scenario(*scripts)) as server:
        run = await play(project, server, overrides=overrides)
    breaker = run.of(ev.BreakerChanged)[-1].breaker
    assert [text.partition("(")[2] for text in breaker.evidence["stagnation"]] == [
        "",
        "the files are as they were at the start)",
        "the files are as they were after iteration 1)",
    ]
    assert [e.text for e in run.of(ev.Notice) if "so later work was undone" in e.text] == [
        "After iteration 2 the files are as they were at the start, so later work was undone.",
        "After iteration 3 the files are as they were after iteration 1, so later work was undone.",
    ]
