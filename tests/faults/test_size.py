"""Lines 19, 72: a plan of 10,000 tasks (100,000 in the long run) and a long journal open in seconds."""

import json
import os
from pathlib import Path

import pytest

from ralph_tui.cli.status_report import tasks_table
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.prompts.tool_schemas import plan_summary
from ralph_tui.store.journal.journal import JournalWriter, read_events
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task
from tests.harness.real_processes import run_ralph

LONG = "RALPH_LONG" in os.environ
EVENTS = int(os.environ.get("RALPH_EVENTS", "50000" if LONG else "15000"))
TASKS = 100_000 if LONG else 10_000
SECONDS = 60.0 if LONG else 15.0
"""Processor time: a bound against what grows faster than its input, not a benchmark; those are in tests/bench."""


def worked() -> float:
    """Return the processor time of this process and of the children that have ended, in seconds."""
    return sum(os.times()[:4])


@pytest.fixture
def big(tmp_path: Path) -> Path:
    tasks = [task(f"t{n}", dependencies=[f"t{n - 1}"] if n else []) for n in range(TASKS)]
    project = make_project(tmp_path, tasks)
    finished = {"type": "tool_finished", "outcome": "ok", "output": "fine " * 20}
    started = {"type": "tool_started", "name": "Bash", "input": {"command": "uv run pytest"}}
    with (project / ".ralph" / "events.jsonl").open("w") as journal:
        for number in range(1, EVENTS + 1):
            shape = started if number % 2 else finished
            key = {"seq": number, "tool_id": f"toolu_{(number + 1) // 2}"}
            journal.write(json.dumps(key | shape) + "\n")
    return project


@pytest.mark.costly
async def test_a_large_project_opens_in_seconds(big: Path) -> None:
    started = worked()
    documents = Project(big).load()
    assert len(documents.plan.tasks) == TASKS
    assert documents.plan.get_next_task() == documents.plan.tasks[0]
    assert documents.plan.problems() == ()
    writer = JournalWriter(big / ".ralph" / "events.jsonl")
    assert writer.last_seq == EVENTS
    writer.close()
    view, count = LoopView(), 0
    for _, event in read_events(big / ".ralph" / "events.jsonl"):
        view, count = reduce(view, event), count + 1
    assert count == EVENTS
    changed = Project(big).transact(
        lambda d: d.model_copy(update={"plan": d.plan.with_task("t0", retry_count=1)})
    )
    assert changed.plan.tasks[0].retry_count == 1
    assert worked() - started < SECONDS
    started = worked()
    ran = await run_ralph(["status"], big)
    assert ran.status == 0, ran.stderr
    assert f"{TASKS} tasks" in ran.stdout.replace(",", "")
    assert worked() - started < SECONDS


def test_what_a_task_waits_for_is_told_in_time_that_grows_with_the_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In a plan of this size a look through all tasks for each of them takes a minute."""
    many = [Task(id=f"t{n}", dependencies=(f"t{n - 1}",) if n else ()) for n in range(10_000)]
    plan = ImplementationPlan(tasks=tuple(many))
    started = worked()
    summary = plan_summary(plan)
    tasks_table(plan, plan.tasks)
    assert worked() - started < SECONDS / 2
    assert '"waits_for": ["t9998"]' in summary.text
    assert "waits for t9998" in capsys.readouterr().out
