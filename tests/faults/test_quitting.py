"""Stopping at once takes under two seconds whatever the CLI does, and leaves nothing behind."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.agent import process
from ralph_tui.agent.agent import ClaudeAgent
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
from tests.faults.test_long_runs import TalkingAgent, TalkingSession
from tests.harness.projects import make_project, plan_of, task
from tests.harness.real_processes import PYTHON
from tests.harness.waiting import until

QUICK = 8.0
"""Seconds. It takes about one on an idle machine; waiting as the SDK does takes ten and more."""

DEAF = """\
#!{python} -IS
import json, signal, sys, time
for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
for line in sys.stdin if {begins} else ():
    message = json.loads(line)
    if message["type"] != "control_request":
        break
    done = {{"subtype": "success", "request_id": message["request_id"], "response": {{}}}}
    print(json.dumps({{"type": "control_response", "response": done}}), flush=True)
open({sign!r}, "w").close()
while True:
    time.sleep(60)
"""
"""It hears nothing from its start, or from the first word to it; no signal that can be ignored ends it."""


@pytest.mark.serial
@pytest.mark.parametrize("begins", [False, True], ids=["at its start", "in its turn"])
async def test_stopping_at_once_does_not_wait_for_a_cli_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, begins: bool
) -> None:
    cli, sign = tmp_path / "claude", tmp_path / "runs"
    cli.write_text(DEAF.format(python=PYTHON, sign=str(sign), begins=begins))
    cli.chmod(0o700)
    monkeypatch.setattr(process, "bundled_cli", lambda: cli)
    project = make_project(tmp_path, [task("a")])
    services = RunServices(ClaudeAgent, load_settings(project, environ={}))
    request = RunRequest(only=Phase.BUILDING)
    run = asyncio.create_task(run_loop(project, services, request, lambda _: None))
    await until(lambda: sign.exists() or run.done(), what="a CLI that hears nothing")
    began = time.monotonic()
    await asyncio.to_thread(Controls(project).stop, now=True)
    end = await run
    assert time.monotonic() - began < QUICK
    assert (end.status.value, end.exit_code) == ("interrupted", 130)
    assert plan_of(project).tasks[0].status is TaskStatus.PENDING
    assert plan_of(project).tasks[0].retry_count == 0
    left = [p.cmdline() for p in psutil.Process().children() if p.status() != "zombie"]
    assert not [line for line in left if str(cli) in line], left


class FullSession(TalkingSession):
    """Fills its context in the first turn; any turn goes on until it is interrupted."""

    def __init__(self) -> None:
        self.interrupted = asyncio.Event()

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        self.interrupted.clear()
        yield ev.SessionStarted(session_id="s", model="fake", tools=(), cli_version="0")
        full = TokenUsage(input_tokens=190_000, output_tokens=10)
        yield TurnUsage(usage=full, session_cost_usd=0.0001)
        await self.interrupted.wait()
        yield TurnEnded(interrupted=True)

    async def interrupt(self) -> None:
        self.interrupted.set()


class FullAgent(TalkingAgent):
    """Has only such sessions."""

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> FullSession:
        del spec, supervisor
        return FullSession()


async def test_stopping_at_once_is_heard_while_the_work_is_handed_off(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    services = RunServices(FullAgent, load_settings(project, environ={}))
    told: list[ev.Event] = []
    run = asyncio.create_task(
        run_loop(project, services, RunRequest(only=Phase.BUILDING), told.append)
    )
    await until(
        lambda: run.done() or any(isinstance(event, ev.HandoffStarted) for event in told),
        what="a hand-off",
    )
    await asyncio.to_thread(Controls(project).stop, now=True)
    async with asyncio.timeout(30):
        end = await run
    assert (end.status.value, end.exit_code, end.iterations) == ("interrupted", 130, 1)


async def test_a_session_that_is_open_when_nobody_wants_it_any_more_is_closed(
    tmp_path: Path,
) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    class Late(TalkingSession):
        async def close(self) -> None:
            closed.set()

    class LateAgent(TalkingAgent):
        async def open(self, spec: SessionSpec, supervisor: Supervisor) -> Late:
            del spec, supervisor
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return Late()  # it was there just before
            raise AssertionError

    project = make_project(tmp_path, [task("a")])
    services = RunServices(LateAgent, load_settings(project, environ={}))
    run = asyncio.create_task(
        run_loop(project, services, RunRequest(only=Phase.BUILDING), lambda _: None)
    )
    async with asyncio.timeout(60):
        await begun.wait()
        await asyncio.to_thread(Controls(project).stop, now=True)
        end = await run
    assert closed.is_set()
    assert (end.status.value, end.iterations) == ("interrupted", 1)
