"""Signals by the processes that really run: what a pattern or a number would reach."""

import os
from pathlib import Path

import psutil
import pytest

from ralph_tui.engine.session.spec import with_own_processes
from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import Policy

LINES = (
    "/opt/ralph/bin/python /opt/ralph/bin/ralph run",
    "claude --append-system-prompt uv run pytest",
)
POLICY = Policy(root=Path("/work/proj"), own_pids=(4321, 4000), own_processes=LINES)


@pytest.mark.parametrize(
    "command",
    [
        "kill 4321",
        "kill -STOP 4000",
        "kill -9 -4000",
        "P=4321; kill $P",
        "pkill -f pytest",
        "pkill python",
        "killall python",
    ],
)
def test_what_reaches_ralph_is_refused(command: str) -> None:
    assert judge_command(command, POLICY).rule == "ralph-signals"


@pytest.mark.parametrize(
    "command",
    [
        "kill 4322",
        "kill -0 4321",
        "pkill pytest",
        "pkill -x claud",
        "pkill -f 'python -m http.server'",
        "kill $(pgrep -f uvicorn)",
        "ps aux | grep -v pytest",
    ],
)
def test_what_does_not_may_be_signalled(command: str) -> None:
    assert judge_command(command, POLICY).decision == "allow"


def test_a_run_shields_its_own_process_and_all_it_runs_under() -> None:
    policy = with_own_processes(Policy(root=Path("/work/proj")))
    me = psutil.Process()
    assert {os.getpid(), os.getppid()} <= set(policy.own_pids)
    assert len(policy.own_pids) == 1 + len(me.parents())
    assert any(" ".join(me.cmdline()[:2]) in line for line in policy.own_processes)
    assert "ralph run" in policy.own_processes
    assert judge_command(f"kill -STOP {os.getppid()}", policy).rule == "ralph-signals"
    assert judge_command(f"kill {os.getpid()}", policy).rule == "ralph-signals"
