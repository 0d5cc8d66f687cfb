"""Opening a session: again when the CLI dies at its start, not at all when the person wants something else."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta

from ralph_tui.domain.errors import CliStartError
from ralph_tui.domain.project_state import Halt
from ralph_tui.engine.ports import AgentItem, AgentSession, Overseer, SessionSpec, TurnEnded
from ralph_tui.engine.waiting import wait_until
from ralph_tui.engine.workshop import Workshop

STARTS = 5
"""How often the CLI may die at its start before the run ends."""


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


async def open_again(shop: Workshop, spec: SessionSpec, overseer: Overseer) -> AgentSession:
    """A session; a CLI that dies while it starts is started again, after a longer pause each time.

    Raises:
        CliStartError: It keeps dying.
        SetupError: No session could be started, and another start would not help.
    """
    failed = 0
    while True:
        try:
            return await shop.agent.open(spec, overseer)
        except CliStartError as error:
            failed += 1
            if failed == STARTS:
                message = f"The Claude Code CLI died at each of {STARTS} starts. {error.message}"
                raise CliStartError(message, error.hint) from error
            seconds = min(shop.settings.limits.backoff_seconds, 2.0 ** (failed - 1))
            until = shop.clock() + timedelta(seconds=seconds)
            said = f"{error.message} Starting it again ({failed + 1} of {STARTS})"
            await wait_until(shop, until, said, ends=lambda stop: stop is Halt.NOW)


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
