"""Notices that the commands of a session cannot run in the sandbox any more.

The CLI is told never to run them outside of it (`failIfUnavailable`), so a lost sandbox shows as failing
commands; the words are found by experiment (SDK-FACTS section 10).
"""

import asyncio

from ralph_tui.agent.failures import failure
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import FailureClass, ToolOutcome
from ralph_tui.engine.ports import AgentItem, Failure
from ralph_tui.guard.sandbox import GONE, LOST_HINT, lost, why_no_sandbox

_SESSION_LOST = (
    "Sandbox is required but failed to initialize",
    "Sandbox is enabled but failed to initialize",
    "Linux sandbox HTTP bridge socket is missing",
    "Linux sandbox SOCKS bridge socket is missing",
    GONE,
)
"""Every further command of the session will fail, too."""
_ONE_FAILED = "bwrap: "
"""The command itself may have said this, so it only gives reason to look."""


def suspects(items: list[AgentItem]) -> str:
    """What a failed command says about the sandbox; empty when it says nothing."""
    for item in items:
        if isinstance(item, ev.ToolFinished) and item.outcome is ToolOutcome.ERROR:
            said = _said(item)
            if said.startswith((*_SESSION_LOST, _ONE_FAILED)):
                return said
    return ""


async def lost_sandbox(said: str) -> Failure | None:
    """Why the turn ends after a command said this; None when the sandbox works after all."""
    reason = await asyncio.to_thread(why_no_sandbox)
    if reason:
        return Failure(kind=FailureClass.SETUP, message=lost(reason), hint=LOST_HINT)
    if said.startswith(_SESSION_LOST):
        return failure(FailureClass.CLI_DIED, "The Claude Code CLI lost its sandbox.")
    return None


def _said(item: ev.ToolFinished) -> str:
    """The output of a command without the line that tells its exit status."""
    first, _, rest = item.output.partition("\n")
    return rest if first.startswith("Exit code ") else item.output
