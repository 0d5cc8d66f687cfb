"""Wait for a usage limit to reset, a service to recover or the hourly request count to fall.

An outage of the API or the network is waited out with growing pauses, up to `limits.max_outage_minutes`.
A wait ends at a wall-clock time, so that it is right after a laptop has slept. The monotonic clock bounds
it, so that setting the clock back does not lengthen it. A wait ends early when the person retries or
stops, and it uses up no iteration and no attempt.
"""

import asyncio
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.outcomes import FailureClass
from ralph_tui.domain.project_state import ApprovalKind, Pause, StopMode
from ralph_tui.domain.run.rate_limit import RequestRate
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import End, who_stopped
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.decisions.ask_person import (
    answer_deadline,
    decide,
    decide_in_their_place,
    wait_until_due,
)
from ralph_tui.store.project import Documents

MAX_BACKOFF = timedelta(minutes=5)

JITTER = 0.5
"""Each pause is randomly longer by up to this fraction."""

RETRIED = "retried on request"


class Countdown:
    """Counts down to a time of the wall clock. Setting that clock back does not lengthen it."""

    def __init__(self, until: datetime, clock: Callable[[], datetime]) -> None:
        self._until = until
        self._clock = clock
        self._latest = time.monotonic() + (until - clock()).total_seconds()

    @property
    def left(self) -> float:
        by_wall = (self._until - self._clock()).total_seconds()
        return min(by_wall, self._latest - time.monotonic())


async def wait_until(
    run: RunContext,
    until: datetime,
    message: str,
    *,
    ends: Callable[[StopMode], bool] = lambda stop: stop is not StopMode.NONE,
) -> str:
    """Wait, report the wait, and return why it ended; a requested stop does only if `ends` says so."""
    run.emit(ev.LimitWait(until=until, message=message))
    why = "interrupted"
    try:
        await run.project_state.transact(_recorded(Pause(until=until, why=message)))
        why = await _wait(run, Countdown(until, run.clock), ends)
    finally:
        run.emit(ev.LimitWaitEnded(why=why))
        await run.project_state.transact(_recorded(None))
    return why


async def _wait(run: RunContext, countdown: Countdown, ends: Callable[[StopMode], bool]) -> str:
    while (left := countdown.left) > 0:
        state = run.docs.state
        if ends(state.stop):
            return who_stopped(state)
        if state.retry_now:
            await run.project_state.transact(forget_retry)
            return RETRIED
        await run.project_state.wait_changed_within(left)
    return "the wait is over"


class Backoff:
    """Decides whether and how long to wait after a failure, and waits."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._limits = run.settings.limits
        self._waited = timedelta()
        self._down_since: float | None = None
        """When an outage began, by the monotonic clock."""
        self._pauses = 0

    async def after(self, failure: Failure | None) -> bool:
        """Wait if waiting helps; return whether the failure was waited out, so that the iteration does not count."""
        if failure is not None and failure.kind.is_outage:
            return await self._wait_for_service(failure)
        self._down_since = None
        if failure is None:
            self._waited = timedelta()
            return False
        if failure.kind is not FailureClass.USAGE_LIMIT or self._limits.on_usage_limit == "exit":
            return False
        return await self._wait_for_limit(failure)

    @property
    def outage_duration(self) -> str:
        since = self._down_since
        return "" if since is None else duration(time.monotonic() - since)

    async def _wait_for_service(self, failure: Failure) -> bool:
        if self._down_since is None:
            self._down_since, self._pauses = time.monotonic(), 0
        pause = timedelta(seconds=self._limits.backoff_seconds) * 2 ** min(self._pauses, 16)
        self._pauses += 1
        # Loops that the same outage stopped must not all retry in the same second.
        pause = min(pause, MAX_BACKOFF) * (1 + JITTER * random.random())  # noqa: S311 - no secret
        # Only time awake counts: a machine that slept has not seen an outage.
        lasted = timedelta(seconds=time.monotonic() - self._down_since)
        if lasted + pause > timedelta(minutes=self._limits.max_outage_minutes):
            return False
        why = await wait_until(self._run, self._run.clock() + pause, failure.message)
        if why == RETRIED:  # the person knows more than we do: start with short pauses again
            self._down_since, self._pauses = time.monotonic(), 0
        return True

    async def _wait_for_limit(self, failure: Failure) -> bool:
        now = self._run.clock()
        fallback = now + timedelta(minutes=self._limits.fallback_wait_minutes)
        # Our clock may be wrong: waiting for a reset in the past would retry at once, forever.
        resets = failure.resets_at
        until = resets if resets is not None and resets > now else fallback
        longest = timedelta(minutes=self._limits.max_wait_minutes)
        if self._waited + (until - now) > longest:
            return False
        if self._limits.on_usage_limit == "ask" and not await self._ask_to_wait(failure, until):
            return False
        # Only time awake counts: a machine that slept has not been waiting.
        started = time.monotonic()
        await wait_until(self._run, until, failure.message)
        self._waited += timedelta(seconds=time.monotonic() - started)
        return self._run.docs.state.stop is StopMode.NONE

    async def _ask_to_wait(self, failure: Failure, until: datetime) -> bool:
        if not self._run.request.interactive:
            return False
        left = duration((until - self._run.clock()).total_seconds())
        then = (
            "Wait until it resets"
            if failure.resets_at
            else "No reset time was reported. Wait and try again"
        )
        summary = (
            f"{failure.message} {then} at {until:%Y-%m-%d %H:%M} UTC, in {left}? "
            "Yes waits and continues automatically. No ends this run with status 2."
        )
        seconds, run = self._limits.ask_timeout_seconds, self._run
        due = answer_deadline(run, run.clock())

        async def wait() -> None:
            if await wait_until_due(run, due):
                reason = f"no answer in {duration(seconds)}"
                await decide_in_their_place(
                    run, ApprovalKind.LIMIT, approved=False, reason=reason, by="timeout"
                )

        decided = await decide(run, ApprovalKind.LIMIT, summary, wait=wait)
        return not isinstance(decided, End) and bool(decided.approved)


def _recorded(pause: Pause | None) -> Callable[[Documents], Documents]:
    return lambda docs: docs.with_state(waits=pause)


def forget_retry(docs: Documents) -> Documents:
    return docs.with_state(retry_now=False)


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
