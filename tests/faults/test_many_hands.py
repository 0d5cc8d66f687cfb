"""Lines 24, 26: commands and edits of other processes interleave with a real loop's writing; none is lost.

RALPH_OPERATIONS sets how many each of the three processes makes.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded, TurnUsage
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.store.project import Project
from tests.faults.test_long_runs import TalkingAgent, TalkingSession
from tests.harness.projects import events_of, make_project, plan_of, task
from tests.harness.waiting import until

pytestmark = pytest.mark.timeout(1200)

FEW = 10
COMMANDS = """
import sys
from pathlib import Path
from ralph_tui.domain.errors import RalphError
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import TaskFields
controls, name = Controls(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    print(controls.inject(f"{name}-{n}", now=n % 10 == 0).id, flush=True)
    while True:
        try:
            (controls.skip if n % 2 == 0 else controls.retry)(name)
            break
        except RalphError as error:  # seen in the instant before the editor took its older text back
            assert error.message == f"Task {name} is pending, not blocked.", error.message
    controls.edit_task("edited", TaskFields(criteria=(f"{name} {n}",)))
"""

EDITS = """
import json, sys, time
from pathlib import Path
from ralph_tui.store.documents.multi_file_commit import exchange
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


async def started(code: str, root: Path, name: str, env: Mapping[str, str], each: int) -> Process:
    command = [sys.executable, "-c", code, str(root), name, str(each)]
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=env)


async def output_of(process: Process) -> list[str]:
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    return out.decode().split()


def consumed(project: Path) -> bool:
    return b'"injection_consumed"' in (project / ".ralph" / "events.jsonl").read_bytes()


class PaidSession(TalkingSession):
    """Spends money, which the loop writes down each time, until it is interrupted."""

    paid, over = 0, False

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        assert prompt
        while not self.over:
            self.paid += 1
            usage = TokenUsage(input_tokens=1_000, output_tokens=self.paid)
            yield TurnUsage(usage=usage, session_cost_usd=0.0001 * self.paid)
        yield TurnEnded(text="over", num_turns=1)

    async def steer(self, text: str) -> None:
        assert text

    async def interrupt(self) -> None:
        self.over = True


class PaidAgent(TalkingAgent):
    """Has only that session."""

    session = PaidSession()

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> PaidSession:
        del spec, supervisor
        return self.session


@pytest.mark.usefixtures("played_cli")
async def test_nothing_of_two_hands_is_lost_while_the_loop_writes(tmp_path: Path) -> None:
    """The same without the real CLI, cheap enough for every run."""
    names = ("z", "one", "edited")
    project = make_project(tmp_path, [task(name, priority=n) for n, name in enumerate(names)])
    agent, events = PaidAgent(), list[ev.Event]()
    services = RunServices(lambda: agent, load_settings(project, environ={}))
    loop = asyncio.create_task(
        run_loop(project, services, RunRequest(only=Phase.BUILDING), events.append)
    )
    await until(lambda: agent.session.paid or loop.done(), what="the loop at work")
    hands = [
        await started(code, project, name, os.environ, FEW)
        for code, name in ((COMMANDS, "one"), (EDITS, "two"))
    ]
    given = await output_of(hands[0])
    (project / "over").touch()
    edits = await output_of(hands[1])
    await asyncio.to_thread(Controls(project).stop, now=True)
    end = await loop
    assert end.exit_code == 130, end
    assert len(given) == FEW
    nothing_is_lost(project, given, edits)
    tasks = {t.id: t for t in plan_of(project).tasks}
    assert tasks["one"].status is TaskStatus.PENDING
    assert tasks["edited"].verification_criteria == (f"one {FEW - 1}",)
    state = Project(project).load().state
    assert state.session_cost_usd == pytest.approx(end.cost_usd)
    assert end.cost_usd == pytest.approx(0.0001 * agent.session.paid, rel=0.1)


def nothing_is_lost(project: Path, given: Sequence[str], edits: Sequence[str]) -> None:
    """Guidance and edits of other processes are where they belong, and the files are whole."""
    documents, events = Project(project).load(), events_of(project)

    # Guidance: each word either reached the agent, once, or still waits; what a stop cut off waits again.
    consumed = [e for e in events if isinstance(e, ev.InjectionConsumed)]
    used = [i for e in consumed for i in e.ids]
    left = [i.id for i in documents.pending]
    again = set(used) & set(left)
    assert sorted([*(i for i in used if i not in again), *left]) == sorted(given)
    assert used, "the loop took some meanwhile"
    last = max(e.iteration for e in consumed)
    assert again <= {i for e in consumed if e.iteration == last for i in e.ids}

    # Edits: in the plan; one made at the instant of several renames is kept beside it and told.
    assert edits
    kept = [p.read_text() for p in (project / ".ralph").glob("*.edited-*")]
    tasks = {t.id for t in documents.plan.tasks}
    missing = [n for n in edits if f"edit-{n}" not in tasks]
    assert [n for n in missing if not any(f'"edit-{n}"' in text for text in kept)] == []
    assert len(missing) <= len(kept)

    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert not list((project / ".ralph").glob("*.corrupt-*"))
    assert not (project / ".ralph" / "commit.json").exists()
