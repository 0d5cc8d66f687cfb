"""The two helpers of a run without their processes, which take a third of a second of each run."""

import asyncio

import pytest

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.engine.safety.processes import RUN_MARK, Watchdog, end_marked
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


async def _end(watchdog: Watchdog) -> None:
    await asyncio.to_thread(end_marked, RUN_MARK, watchdog._run_id)
