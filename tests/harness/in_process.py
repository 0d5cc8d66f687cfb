"""What a run does without what costs each test most: two helper processes, and compiling what every check imports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.engine.safety.processes import RUN_MARK, Watchdog, end_marked
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.core.policy import Policy


def spare_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge commands here, and end what a run leaves without a watchdog."""
    monkeypatch.setattr(CommandJudge, "warm_up", _rest)
    monkeypatch.setattr(CommandJudge, "judge", _judge)
    monkeypatch.setattr(Watchdog, "start", lambda _: None)
    monkeypatch.setattr(Watchdog, "stop", _end)


async def _rest(_: CommandJudge) -> None:
    return


async def _judge(_: CommandJudge, command: str, policy: Policy) -> Verdict:
    from ralph_tui.guard.analysis.judge import judge_command  # slow to import

    return judge_command(command, policy)


def _end(watchdog: Watchdog) -> None:
    end_marked(RUN_MARK, watchdog._run_id)


def spare_compiling(monkeypatch: pytest.MonkeyPatch, compiled: Path) -> None:
    """Let checks find pytest's and Python's own modules compiled, as in a project's second run."""
    take = JudgeTree._take_place

    def take_with_modules(tree: JudgeTree) -> None:
        take(tree)
        for name in ("bytecode", "bytecode-here"):
            if not (place := tree.place / name).exists():
                shutil.copytree(_modules(compiled), place, copy_function=os.link)

    monkeypatch.setattr(JudgeTree, "_take_place", take_with_modules)


def _modules(compiled: Path) -> Path:
    if not compiled.exists():
        compiled.mkdir()
        test = compiled / "test_a.py"
        test.write_text("import json\ndef test_a():\n    assert json.loads('[1]') == []\n")
        made = {"PYTHONPYCACHEPREFIX": str(compiled), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = (sys.executable, "-m", "pytest", "-qp", "no:cacheprovider", test)
        subprocess.run(command, env={**os.environ, **made}, capture_output=True, check=False)
        test.unlink()
    return compiled
