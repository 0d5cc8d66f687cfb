"""What a session uses is written down while it goes on; the status says what the screen shows."""

import asyncio
from collections.abc import AsyncIterator
from functools import reduce as fold
from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded, TurnUsage
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.present.text.figures import tokens
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.faults.test_long_runs import TalkingAgent, TalkingSession
from tests.harness.projects import make_project, task


def used(tokens: int) -> TurnUsage:
    usage = TokenUsage(input_tokens=tokens - 2_000, output_tokens=2_000)
    return TurnUsage(usage=usage, session_cost_usd=tokens / 100_000, session_tokens=tokens)


class OpenSession(TalkingSession):
    """Has told what it used, and waits before it ends."""

    def __init__(self) -> None:
        self.told, self.continue_in_background = asyncio.Event(), asyncio.Event()

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        assert prompt
        yield used(20_000)
        yield used(42_000)
        self.told.set()
        await self.continue_in_background.wait()
        yield used(42_000)  # as a turn ends: the last figures again
        yield TurnEnded(text="over", num_turns=1)


class OpenAgent(TalkingAgent):
    """Has only that session."""

    def __init__(self, session: OpenSession) -> None:
        self.session = session

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> OpenSession:
        del spec, supervisor
        return self.session


def status(root: Path) -> dict[str, str]:
    lines = inside("status", cwd=root).stdout.splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


async def test_tokens_and_context_are_known_in_the_first_iteration(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a")])
    session, told = OpenSession(), list[ev.Event]()
    settings = load_settings(root, environ={"RALPH_MAX_ITERATIONS": "1"})
    services = RunServices(lambda: OpenAgent(session), settings)
    loop = asyncio.create_task(
        run_loop(root, services, RunRequest(only=Phase.BUILDING), told.append)
    )
    await session.told.wait()
    shown = fold(reduce, told, LoopView()).budget
    said = status(root)
    assert said["context"] == f"{tokens(shown.current_usage)} of 200k (21 %)"
    assert said["tokens"] == "42k in this run, 42k in total"
    session.continue_in_background.set()
    await loop
    state = Project(root).load().state
    assert (state.session_tokens_used, state.total_tokens_used) == (42_000, 42_000)
    (finished,) = (event for event in told if isinstance(event, ev.IterationFinished))
    assert finished.tokens == 42_000
    said = status(root)
    assert said["tokens"] == "42k in the last run, 42k in total"
    assert "context" not in said
