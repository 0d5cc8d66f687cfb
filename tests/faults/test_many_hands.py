"""Lines 24, 26: commands and edits of other processes interleave with a real loop's writing; none is lost.

RALPH_OPERATIONS sets how many each of the three processes makes.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.engine.controls import Controls
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.processes import ralph_running
from tests.harness.projects import events_of, make_project, plan_of, task
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import until

pytestmark = [pytest.mark.real_cli, pytest.mark.timeout(1200)]

EACH = int(os.environ.get("RALPH_OPERATIONS", "120" if "RALPH_LONG" in os.environ else "15"))
FINISHED = min(20, EACH // 100)
"""Tasks the loop begins and finishes meanwhile, which writes several documents at once."""

COMMANDS = """
import sys
from pathlib import Path
from ralph_tui.engine.controls import Controls
controls, name = Controls(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    print(controls.inject(f"{name}-{n}", now=n % 10 == 0).id, flush=True)
    (controls.skip if n % 2 == 0 else controls.retry)(name)
    controls.edit_task("edited", verification_criteria=(f"{name} {n}",))
"""

EDITS = """
import json, sys, time
from pathlib import Path
from ralph_tui.store.swap import exchange
root = Path(sys.argv[1])
path = root / ".ralph" / "implementation_plan.json"
temp, over = path.with_name("editor.swp"), root / "over"
for n in range(int(sys.argv[3])):
    while True:  # an editor that notices when somebody was faster, and begins anew
        before = path.read_bytes()
        plan = json.loads(before)
        plan["tasks"].append({"id": f"edit-{n}", "description": "by hand", "priority": 9})
        temp.write_text(json.dumps(plan))
        mine = temp.read_bytes()
        assert exchange(temp, path)
        if temp.read_bytes() == before:
            break
        assert exchange(temp, path)
    print(n, flush=True)
    while path.read_bytes() == mine and not over.exists():
        time.sleep(0.001)  # it lets others write too; who never does is refused, store/test_project
    if over.exists():
        break
temp.unlink()
"""


async def started(code: str, root: Path, name: str, env: Mapping[str, str]) -> Process:
    command = [sys.executable, "-c", code, str(root), name, str(EACH)]
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=env)


async def output_of(process: Process) -> list[str]:
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    return out.decode().split()


def consumed(project: Path) -> bool:
    return b'"injection_consumed"' in (project / ".ralph" / "events.jsonl").read_bytes()


@pytest.mark.long
async def test_nothing_of_many_hands_is_lost(tmp_path: Path) -> None:
    short = [f"w{n}" for n in range(FINISHED)]
    waiting = [task(name, priority=9) for name in ("one", "two", "edited")]
    working = [*(task(n, priority=1) for n in short), task("z", priority=2)]
    project = make_project(tmp_path, [*working, *waiting])
    script = scenario(*(finishes(name) for name in short), works_forever("z"))
    async with (
        serving(script) as server,
        ralph_running(["build", "--headless"], project, server) as ralph,
    ):
        told = asyncio.create_task(ralph.process.communicate())
        await until(lambda: server.requests or told.done(), what="the loop at work")
        hands = [
            await started(code, project, name, ralph.environment)
            for code, name in ((COMMANDS, "one"), (COMMANDS, "two"), (EDITS, "three"))
        ]
        given = [*await output_of(hands[0]), *await output_of(hands[1])]
        (project / "over").touch()
        edits = await output_of(hands[2])
        await until(
            lambda: told.done() or server.requests[-1].script == "never finishes z",
            seconds=300,
            what="the task without an end",
        )
        await until(lambda: told.done() or consumed(project), what="guidance that is used")
        await asyncio.to_thread(Controls(project).stop, now=True)
        out, err = await told
    assert ralph.process.returncode == 130, (out[-800:], err[-800:])
    assert b"Traceback" not in err
    documents, events = Project(project).load(), events_of(project)

    # Guidance: each word either reached the agent, once, or still waits.
    used = [i for e in events if isinstance(e, ev.InjectionConsumed) for i in e.ids]
    left = [i.id for i in documents.pending]
    assert sorted(used + left) == sorted(given)
    assert len(given) == 2 * EACH
    assert used, "the loop took some meanwhile"

    # Commands: the last word on each task holds, and the loop's own results stand beside it.
    tasks = {t.id: t for t in plan_of(project).tasks}
    last = TaskStatus.BLOCKED if EACH % 2 else TaskStatus.PENDING
    assert {tasks["one"].status, tasks["two"].status} == {last}
    assert tasks["edited"].verification_criteria in [(f"{n} {EACH - 1}",) for n in ("one", "two")]
    assert [n for n in short if tasks[n].status is not TaskStatus.COMPLETE] == []
    iterations = [e for e in events if isinstance(e, ev.IterationStarted)]
    assert documents.state.iteration_count == len(iterations) == FINISHED + 1

    # Edits: in the plan; one made at the instant of several renames is kept beside it and told.
    assert edits
    kept = [p.read_text() for p in (project / ".ralph").glob("*.edited-*")]
    missing = [n for n in edits if f"edit-{n}" not in tasks]
    assert [n for n in missing if not any(f'"edit-{n}"' in text for text in kept)] == []
    assert len(missing) <= len(kept)

    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert not list((project / ".ralph").glob("*.corrupt-*"))
    assert not (project / ".ralph" / "commit.json").exists()
