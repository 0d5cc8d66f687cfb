"""A promise in the model's final words is a claim like the tool's, on the real CLI; elsewhere it means nothing."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import Run, play

PROMISE = "<promise>COMPLETE</promise>"
FINAL = f'"It is written.\\n\\n{PROMISE}"'
GATE = HAS_FILE.format(name="a.txt")
WRITES = 'write: {path: a.txt, content: "done"}'


def script(*turns: str) -> str:
    lines = "".join(f"\n        - {turn}" for turn in turns)
    return scenario(f"- name: promises\n  task: a\n  turns:{lines}")


async def played(tmp_path: Path, played_script: str, **overrides: object) -> Run:
    project = make_project(tmp_path, [task("a")], [GATE])
    settings: dict[str, object] = {"phases.building.max_iterations": 1}
    settings |= {name.replace("__", "."): value for name, value in overrides.items()}
    async with serving(played_script) as server:
        run = await play(project, server, overrides=settings)
        assert server.unmatched == []
    return run


def outcomes(run: Run) -> list[IterationOutcome]:
    return [e.outcome for e in run.of(ev.IterationFinished)]


@pytest.mark.usefixtures("played_cli")
async def test_a_promise_alone_completes_the_task_through_the_gate(tmp_path: Path) -> None:
    run = await played(tmp_path, script(WRITES, f"say: {FINAL}"))
    assert outcomes(run) == [IterationOutcome.COMPLETE]
    (gate,) = run.of(ev.GateFinished)
    assert gate.passed
    done = task_of(run.project, "a")
    assert done.status is TaskStatus.COMPLETE
    assert done.completion_notes == "It is written."
    assert done.verification is not None
    assert done.verification.receipt, "ralph keeps its own record of it"
    assert run.of(ev.GateStarted)[0].notes == "It is written."


@pytest.mark.long
async def test_a_refused_promise_is_told_and_counted_like_a_refused_claim(tmp_path: Path) -> None:
    read = '{when: {user: "NOT YET:"}, say: "It was not there.", write: {path: b.txt, content: b}}'
    ends = ("say: I give up.", "say: Yes.")
    run = await played(tmp_path, script(f"say: {FINAL}", read, f"say: {FINAL}", *ends))
    assert [gate.passed for gate in run.of(ev.GateFinished)] == [False, False]
    (ended,) = run.of(ev.IterationFinished)
    assert ended.outcome is IterationOutcome.INCOMPLETE
    assert ended.reason.startswith("the claim was rejected: ")
    left = task_of(run.project, "a")
    assert (left.status, left.retry_count) == (TaskStatus.PENDING, 1)
    assert "FileNotFoundError" in left.last_failure
    assert Project(run.project).load().breaker.refused_claims_count == 1


CLAIM = "ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}"


@pytest.mark.long
async def test_both_ways_at_once_are_one_claim(tmp_path: Path) -> None:
    both = f"{{say: {FINAL}, {CLAIM}}}"
    again = f'{{when: {{last_result: "NOT YET:"}}, say: {FINAL}}}'
    run = await played(tmp_path, script(both, again, "say: I have nothing to add."))
    assert [gate.passed for gate in run.of(ev.GateFinished)] == [False]
    assert Project(run.project).load().breaker.refused_claims_count == 1
    assert outcomes(run) == [IterationOutcome.INCOMPLETE]


@pytest.mark.usefixtures("played_cli")
async def test_in_an_earlier_message_or_a_tool_result_it_is_no_claim(tmp_path: Path) -> None:
    earlier, last = f"{{say: {FINAL}, bash: ls}}", "say: That was it."
    run = await played(tmp_path, script(WRITES, earlier, f"bash: echo '{PROMISE}'", last, last))
    assert run.of(ev.GateStarted) == []
    (ended,) = run.of(ev.IterationFinished)
    assert ended.reason == "the model stopped without claiming the task"


@pytest.mark.long
async def test_own_words_may_be_the_promise_or_none_at_all(tmp_path: Path) -> None:
    turns = (WRITES, f"say: {FINAL}", 'say: "ALL DONE"')
    run = await played(tmp_path / "1", script(*turns), phases__building__promise="ALL DONE")
    assert outcomes(run) == [IterationOutcome.COMPLETE]
    run = await played(tmp_path / "2", script(*turns), phases__building__promise="")
    assert run.of(ev.GateStarted) == []
