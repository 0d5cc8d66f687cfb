"""Opening a session, unless the person has asked for something else by then."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

from ralph_tui.engine.ports import AgentItem, AgentSession, TurnEnded


class NeverOpened:
    """A session that nobody waited for: its turn ends before it begins."""

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        """See `AgentSession.run_turn`."""
        del prompt
        yield TurnEnded(interrupted=True)

    async def steer(self, text: str) -> None:
        """See `AgentSession.steer`."""

    async def interrupt(self) -> None:
        """See `AgentSession.interrupt`."""

    async def close(self) -> None:
        """See `AgentSession.close`."""


async def open_unless(
    opening: "asyncio.Task[AgentSession]", asked: Awaitable[object]
) -> AgentSession:
    """The session, or `NeverOpened` when `asked` was done first; a session nobody gets is closed.

    Raises:
        SetupError: No session could be started.
    """
    asking = asyncio.ensure_future(asked)
    taken = False
    try:
        await asyncio.wait([opening, asking], return_when=asyncio.FIRST_COMPLETED)
        taken = opening.done()
        return opening.result() if taken else NeverOpened()
    finally:
        asking.cancel()
        opening.cancel()
        await asyncio.wait([opening, asking])
        if not (taken or opening.cancelled() or opening.exception()):
            await opening.result().close()
