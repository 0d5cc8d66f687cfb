"""What the loop puts into one task, and how it knows the same failure again, on the real CLI."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, hands_over, scenario, stops_without_claim
from tests.scenario.running import play


@pytest.mark.long
async def test_hand_offs_count_and_block_the_task_at_the_limit(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    overrides = {"limits.max_iterations_per_task": 1}
    async with serving(scenario(hands_over("a", "half of it"), finishes("b"))) as server:
        run = await play(project, server, overrides=overrides)
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.HANDED_OFF, IterationOutcome.COMPLETE]
    task_signal = task_of(project, "a")
    assert (task_signal.status, task_signal.iterations) == (TaskStatus.BLOCKED, 1)
    assert task_signal.retry_count == 0
    assert task_signal.blockers[-1].startswith("1 iteration did not finish it; the last: context ")
    assert any(n.text.startswith("a is blocked: 1 iteration did not") for n in run.of(ev.Notice))


@pytest.mark.long
async def test_one_failed_attempt_blocks_where_one_is_the_limit(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    overrides = {"limits.max_attempts_per_task": 1}
    async with serving(scenario(stops_without_claim("a"), finishes("b"))) as server:
        run = await play(project, server, overrides=overrides)
    assert run.end.iterations == 2
    assert task_of(project, "a").blockers == (
        "1 attempt failed; the last: the model stopped without claiming the task",
    )


FAILS_ALIKE = """
    - name: claims {id} with a broken configuration
      task: {id}
      turns:
        - write: {{path: {id}/{id}.txt, content: "{id}"}}
        - bash: cp -f {id}/{id}.txt which.txt
        - ralph: {{mark_task_complete: {{task_id: {id}, verification_notes: Done.}}}}
        - say: That was all.
        - when: {{user: Stop hook feedback}}
          say: Yes.
"""
CHECK = 'echo "/srv/$(cat which.txt)/conf.py:$(date +%S%N): OSError: no config after 0.$(date +%N)s"; exit 1'
"""Fails in the same way at another place, in another line and after another time."""


@pytest.mark.long
async def test_the_same_failure_of_two_tasks_opens_the_breaker(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b"), task("c")], [CHECK])
    overrides = {
        "circuit_breaker.max_same_error": 2,
        "limits.max_attempts_per_task": 1,
        "phases.building.baseline": False,
    }
    played = scenario(FAILS_ALIKE.format(id="a"), FAILS_ALIKE.format(id="b"))
    async with serving(played) as server:
        run = await play(project, server, overrides=overrides)
    assert run.end.iterations == 2
    assert "2 iterations failed in the same way" in run.end.reason
    assert run.end.exit_code == 1
