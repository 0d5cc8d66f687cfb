"""Keep the model requests per hour below the person's limit by waiting before the next one."""

import asyncio
from datetime import datetime

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.run.rate_limit import RequestRate
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.limits.waits import RETRIED, wait_until


class RateLimiter:
    """Delays requests to the model; a running session keeps its context."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._limit = run.settings.limits.rate_limit_per_hour
        self._wait_lock = asyncio.Lock()
        self.holding = False

    async def hold(self, *, in_session: bool = False) -> None:
        """Wait until another request fits into the hour; in a session, only an immediate stop ends the wait."""
        if self._free_at() is None:
            return
        async with self._wait_lock:  # parallel tool calls arrive together
            while (until := self._free_at()) is not None:
                if not await self._wait(until, in_session=in_session):
                    return

    def _free_at(self) -> datetime | None:
        return self._run.docs.requests.free_at(self._limit, self._run.clock())

    async def _wait(self, until: datetime, *, in_session: bool) -> bool:
        count = self._run.docs.requests.in_hour(self._run.clock())
        message = f"{plural(count, 'model request')} in the last hour. The maximum is {self._limit} (limits.rate_limit_per_hour)."

        def ends(stop: StopMode) -> bool:
            return stop is StopMode.NOW or (stop is not StopMode.NONE and not in_session)

        self.holding = True
        try:
            why = await wait_until(self._run, until, message, ends=ends)
        finally:
            self.holding = False
        if why == RETRIED:
            await self._run.project_state.transact(
                lambda docs: docs.with_state(requests=RequestRate()).replacing(
                    project=docs.project.without_requests()
                )
            )
        return not ends(self._run.docs.state.stop)
