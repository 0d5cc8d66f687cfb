"""Line 72: memory stays flat however many iterations a run has; the model is a fake one for speed.

RALPH_ITERATIONS sets how many.
"""

import gc
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded, TurnUsage
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.store.journal.journal import JournalWriter
from tests.harness.projects import ALLOWS, make_project, task

ITERATIONS = int(os.environ.get("RALPH_ITERATIONS", "120"))
ALLOWED = 24 * 1024 * 1024
"""Growth from the first quarter to the end, in bytes; what grows with iterations is far above at 10,000."""

pytestmark = pytest.mark.timeout(3600)


class TalkingSession:
    """Says much, runs a tool, and ends its turn without a claim."""

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        assert prompt
        yield ev.SessionStarted(session_id="s", model="fake", tools=("Bash",), cli_version="0")
        for number in range(5):
            yield ev.ToolStarted(tool_id=f"{number}", name="Bash", input={"command": "ls"})
            yield ev.ToolFinished(
                tool_id=f"{number}", name="Bash", outcome=ToolOutcome.OK, output="fine " * 400
            )
        yield ev.AssistantText(text="words " * 500)
        usage = TokenUsage(input_tokens=1_000, output_tokens=10)
        yield TurnUsage(usage=usage, session_cost_usd=0.0001)
        yield TurnEnded(text="done", num_turns=1)

    async def steer(self, text: str) -> None:
        raise AssertionError(text)

    async def interrupt(self) -> None:
        return

    async def close(self) -> None:
        return


class TalkingAgent:
    """Makes such sessions."""

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> TalkingSession:
        del spec, supervisor
        return TalkingSession()

    def prepare(self, spec: SessionSpec) -> None:
        del spec

    async def close(self) -> None:
        return


@pytest.mark.long
async def test_memory_stays_flat(tmp_path: Path) -> None:
    # One task that is never given up, instead of a plan of thousands that every iteration writes anew.
    project = make_project(tmp_path, [task("a")], [], ALLOWS)
    off = [
        "max_consecutive_failures",
        "max_stagnation_iterations",
        "max_same_error",
        "max_denied",
        "max_tests_only",
    ]
    overrides = {f"circuit_breaker.{name}": 0 for name in off}
    overrides |= {"limits.max_attempts_per_task": 0, "limits.max_iterations_per_task": 0}
    settings = load_settings(
        project,
        overrides={**overrides, "phases.building.max_iterations": ITERATIONS},
        environ={},
    )
    view, seen, early = LoopView(), 0, 0
    process = psutil.Process()

    def sink(event: Event) -> None:
        nonlocal view, seen, early
        view = reduce(view, event)
        if isinstance(event, ev.IterationFinished):
            seen += 1
            if seen == max(20, ITERATIONS // 4):
                gc.collect()
                early = process.memory_info().rss

    finished = await run_loop(
        project, RunServices(TalkingAgent, settings), RunRequest(only=Phase.BUILDING), sink
    )
    assert finished.iterations == seen == ITERATIONS, finished
    gc.collect()
    grown = process.memory_info().rss - early
    assert early
    assert grown < ALLOWED, f"{grown / 1e6:.1f} MB more after {ITERATIONS} iterations"
    writer = JournalWriter(project / ".ralph" / "events.jsonl")
    writer.close()
    assert writer.last_seq > ITERATIONS * 10
    kept = list((project / ".ralph" / "memory" / "iterations").iterdir())
    assert len(kept) < 100, "old memories go to the archive"
