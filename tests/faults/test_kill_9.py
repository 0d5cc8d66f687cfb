"""Lines 1, 27, 49, 63: `kill -9` of a real run at random moments, each then resumed to completion.

RALPH_KILLS sets how many; a failure names its seed, and RALPH_KILL_SEED plays that one again.
"""

import os
import random
import signal
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.project import Project
from tests.harness.model import serving_in_process
from tests.harness.projects import events_of, make_project, plan_of, task
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until

pytestmark = pytest.mark.timeout(300)

LONG = "RALPH_LONG" in os.environ
KILLS = int(os.environ.get("RALPH_KILLS", "10" if LONG else "1"))
FIRST = int(os.environ.get("RALPH_KILL_SEED", "0" if LONG else "2"))
TASKS = ("a", "b") if LONG else ("a",)
MOST_EVENTS = 17 * len(TASKS)
"""About as many as the journal of an undisturbed run has."""


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(FIRST, FIRST + KILLS))
async def test_a_killed_run_is_resumed_and_nothing_is_done_twice(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed * 7919 + 1)
    moment = chosen.randrange(0, MOST_EVENTS)
    project = make_project(
        tmp_path,
        [task(name, dependencies=[*TASKS[:n]]) for n, name in enumerate(TASKS)],
        files={".ralph/injections.json": '{"guidance": "be careful"}\n'},
    )
    with serving_in_process(scenario(*map(finishes, TASKS)), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            process = ralph.process
            await until(
                lambda: len(events_of(project)) >= moment or process.returncode is not None,
                what=f"event {moment} of seed {seed}",
            )
            if process.returncode is None:
                os.kill(process.pid, signal.SIGKILL)
            await process.wait()
            await until(lambda: not marked_processes(ralph.mark), what="an empty machine")
        killed_at = len(events_of(project))
        done_before = {t.id for t in plan_of(project).tasks if t.status is TaskStatus.COMPLETE}
        left = Project(project).load()
        unheard = bool(left.pending or left.state.given)
        ran = await run_ralph(["build", "--headless"], project, server)
    where = f"seed {seed}, killed at event {killed_at}: {ran.stdout[-800:]}{ran.stderr[-800:]}"
    assert {t.status for t in plan_of(project).tasks} == {TaskStatus.COMPLETE}, where
    assert ran.status == 0, where
    events = events_of(project)
    assert [e.seq for e in events] == list(range(1, len(events) + 1)), where
    resumed = [e.task_id for e in events[killed_at:] if isinstance(e, ev.IterationStarted)]
    assert not done_before & set(resumed), where
    assert len(resumed) == len(set(resumed)), where
    # Whom the kill cut off did not hear it to the end, so that the next one is told again.
    consumed = [e for e in events[killed_at:] if isinstance(e, ev.InjectionConsumed)]
    assert len(consumed) == unheard, where
    ended = Project(project).load()
    assert (ended.pending, ended.state.given) == ((), ()), where
    money = [e.costs.total for e in events if isinstance(e, ev.UsageReported)]
    assert money == sorted(money), where
    assert not list(project.glob(".ralph/*.corrupt-*")), where
    assert len(list(project.glob(".ralph/events.jsonl.partial-*"))) <= 1, where
