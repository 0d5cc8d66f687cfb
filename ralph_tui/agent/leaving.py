"""How a CLI is started and ended, so that ending takes less than two seconds whatever it does."""

import asyncio
import contextlib

from claude_agent_sdk import ClaudeSDKClient, ClaudeSDKError

from ralph_tui.engine.processes import SESSION_MARK, end_marked

LEAVE_SECONDS = 0.5
"""How long a CLI that is well may take to end by itself, and before that to interrupt its tools."""

END_SECONDS = 0.3
"""How long it, and all that it started, may then take to heed a SIGTERM."""

LET_GO_SECONDS = 1.0
"""How long the SDK may take to notice that the CLI is gone; that is no process any more."""


async def start(client: ClaudeSDKClient, mark: str, seconds: float) -> None:
    """Connect; a CLI that is not wanted any more, or takes longer, is ended before the SDK waits for it.

    Raises:
        TimeoutError: It took longer than `seconds`.
    """
    connecting = asyncio.create_task(client.connect(), name="ralph-sdk-connect")
    try:
        await asyncio.wait([connecting], timeout=seconds)
    finally:
        if not connecting.done():
            connecting.cancel()
            await asyncio.shield(asyncio.to_thread(_end, mark))
            await asyncio.wait([connecting], timeout=LET_GO_SECONDS)
    if connecting.cancelled():
        raise TimeoutError
    await connecting


async def leave(client: ClaudeSDKClient, mark: str, *, well: bool, tools_running: bool) -> None:
    """End the CLI and everything with its mark; run it in a task that nobody cancels."""
    if tools_running and well:
        well = await _interrupted(client)  # so that the tools end in order
    leaving = asyncio.create_task(client.disconnect(), name="ralph-sdk-disconnect")
    await asyncio.wait([leaving], timeout=LEAVE_SECONDS if well else 0.0)
    await asyncio.to_thread(_end, mark)
    await asyncio.wait([leaving], timeout=LET_GO_SECONDS)
    leaving.cancel()
    with contextlib.suppress(ClaudeSDKError, OSError, asyncio.CancelledError):
        await leaving


async def _interrupted(client: ClaudeSDKClient) -> bool:
    try:
        await asyncio.wait_for(client.interrupt(), LEAVE_SECONDS)
    except (ClaudeSDKError, OSError, TimeoutError):
        return False
    return True


def _end(mark: str) -> None:
    end_marked(SESSION_MARK, mark, grace=END_SECONDS)
