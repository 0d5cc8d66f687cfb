"""Keeps the model requests of an hour below the person's limit, by waiting before the next one."""

import asyncio
from datetime import datetime

from ralph_tui.domain.project_state import Halt
from ralph_tui.domain.run.rate_limit import RequestRate
from ralph_tui.engine.context import Workshop
from ralph_tui.engine.limits.backoff import RETRIED, wait_until
from ralph_tui.store.project import Documents


class Pace:
    """Holds whoever is about to ask the model; the context of a running session is kept."""

    def __init__(self, shop: Workshop) -> None:
        """Hold by the settings of `shop`."""
        self._shop = shop
        self._limit = shop.settings.limits.rate_limit_per_hour
        self._one_wait = asyncio.Lock()
        self.holding = False

    async def hold(self, *, in_session: bool = False) -> None:
        """Wait until another request fits into the hour; a session is held until it is stopped at once."""
        if self._free_at() is None:
            return
        async with self._one_wait:  # parallel tools come here together
            while (until := self._free_at()) is not None:
                if not await self._wait(until, in_session=in_session):
                    return

    def _free_at(self) -> datetime | None:
        return self._shop.ledger.docs.state.requests.free_at(self._limit, self._shop.clock())

    async def _wait(self, until: datetime, *, in_session: bool) -> bool:
        """Whether the time is over; the person may stop, or go on and have the count begin anew."""
        state = self._shop.ledger.docs.state
        count = state.requests.in_hour(self._shop.clock())
        message = f"{count} model requests in the last hour; rate_limit_per_hour is {self._limit}."

        def ends(stop: Halt) -> bool:
            return stop is Halt.NOW or (stop is not Halt.NONE and not in_session)

        self.holding = True
        try:
            why = await wait_until(self._shop, until, message, ends=ends)
        finally:
            self.holding = False
        if why == RETRIED:
            await self._shop.ledger.transact(_begin_anew)
        return not ends(self._shop.ledger.docs.state.stop)


def _begin_anew(docs: Documents) -> Documents:
    return docs.with_state(requests=RequestRate())
