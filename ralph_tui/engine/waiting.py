"""Waiting that is no failure: a usage limit resets, a busy service recovers.

Waits go by the wall clock, so that a laptop that slept wakes up right; they end early when the person
retries or stops, and they cost no iteration and no retry.
"""

import asyncio
import contextlib
from datetime import datetime, timedelta

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import FailureClass
from ralph_tui.domain.state import Halt
from ralph_tui.engine.ports import Failure
from ralph_tui.engine.workshop import Workshop
from ralph_tui.store.project import Documents

LOOK_SECONDS = 20.0
"""How often the wall clock is looked at; timers do not run while a machine sleeps."""

MAX_BACKOFF = timedelta(minutes=5)

BUSY = frozenset({FailureClass.OVERLOADED, FailureClass.NETWORK})


class Patience:
    """Decides whether and how long to wait after a failure, and waits."""

    def __init__(self, shop: Workshop) -> None:
        """Wait by the settings of `shop`."""
        self._shop = shop
        self._limits = shop.settings.limits
        self._waited = timedelta()
        self._busy = 0

    async def after(self, failure: Failure | None) -> bool:
        """Wait where waiting helps; whether the failure was a usage limit that is waited out."""
        if failure is None:
            self._busy = 0
            return False
        if failure.kind in BUSY:
            self._busy += 1
            pause = timedelta(seconds=self._limits.backoff_seconds) * 2 ** (self._busy - 1)
            await self._wait(self._shop.clock() + min(pause, MAX_BACKOFF), failure.message)
            return False
        if failure.kind is not FailureClass.USAGE_LIMIT or self._limits.on_usage_limit == "exit":
            return False
        return await self._wait_for_limit(failure)

    async def _wait_for_limit(self, failure: Failure) -> bool:
        now = self._shop.clock()
        fallback = now + timedelta(minutes=self._limits.fallback_wait_minutes)
        until = max(failure.resets_at or fallback, now)
        longest = timedelta(minutes=self._limits.max_wait_minutes)
        if self._waited + (until - now) > longest:
            return False
        await self._wait(until, failure.message)
        self._waited += self._shop.clock() - now
        return self._shop.ledger.docs.state.stop is Halt.NONE

    async def _wait(self, until: datetime, message: str) -> None:
        self._shop.emit(ev.LimitWait(until=until, message=message))
        why = await self._until(until)
        self._shop.emit(ev.LimitWaitEnded(why=why))

    async def _until(self, until: datetime) -> str:
        while (left := (until - self._shop.clock()).total_seconds()) > 0:
            state = self._shop.ledger.docs.state
            if state.stop is not Halt.NONE:
                return "stopped by the person"
            if state.retry_now:
                await self._shop.ledger.transact(_forget_retry)
                return "the person retries now"
            with contextlib.suppress(TimeoutError):
                seconds = min(left, LOOK_SECONDS)
                await asyncio.wait_for(self._shop.ledger.wait_changed(), seconds)
        return "the wait is over"


def _forget_retry(docs: Documents) -> Documents:
    return docs.model_copy(update={"state": docs.state.model_copy(update={"retry_now": False})})


async def forgive(shop: Workshop) -> None:
    """A limit that is waited out was no iteration."""

    def change(docs: Documents) -> Documents:
        count = max(0, docs.state.iteration_count - 1)
        return docs.model_copy(
            update={"state": docs.state.model_copy(update={"iteration_count": count})}
        )

    await shop.ledger.transact(change)
