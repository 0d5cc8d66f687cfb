"""Stopping at once takes under two seconds whatever the CLI does, and leaves nothing behind."""

import asyncio
import sys
import time
from pathlib import Path

import psutil
import pytest

from ralph_tui.agent import launcher
from ralph_tui.agent.claude import ClaudeAgent
from ralph_tui.config.load import load_settings
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.domain.state import Phase
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.mission import Mission
from ralph_tui.engine.run import run_mission
from ralph_tui.engine.wiring import Wiring
from tests.harness.projects import make_project, plan_of, task
from tests.harness.waiting import until

QUICK = 2.0
"""Seconds, with the scans for processes that are part of ending a run."""

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


@pytest.mark.parametrize("begins", [False, True], ids=["at its start", "in its turn"])
async def test_stopping_at_once_does_not_wait_for_a_cli_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, begins: bool
) -> None:
    cli, sign = tmp_path / "claude", tmp_path / "runs"
    cli.write_text(DEAF.format(python=sys.executable, sign=str(sign), begins=begins))
    cli.chmod(0o700)
    monkeypatch.setattr(launcher, "bundled_cli", lambda: cli)
    project = make_project(tmp_path, [task("a")])
    wiring = Wiring(ClaudeAgent, load_settings(project, environ={}))
    mission = Mission(only=Phase.BUILDING)
    run = asyncio.create_task(run_mission(project, wiring, mission, lambda _: None))
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
