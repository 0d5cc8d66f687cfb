"""Wait without failing: until a usage limit resets, a service recovers or an hour's requests pass.

An outage of the API or of the network is waited out with growing pauses, up to `limits.max_outage_minutes`.
The end of a wait is a time of the wall clock, so that a laptop that slept wakes up right; the monotonic
clock bounds it, so that a clock that is set back does not lengthen it. A wait ends early when the person
retries or stops, and it costs no iteration and no retry.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import FailureClass
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.project_state import ApprovalKind, Pause, StopMode
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, who_stopped
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.decisions.ask_person import decide
from ralph_tui.store.project import Documents

LOOK_SECONDS = 20.0
"""How often the wall clock is looked at; timers do not run while a machine sleeps."""

MAX_BACKOFF = timedelta(minutes=5)

SPREAD = 0.5
"""A pause is by chance up to this share longer."""

RETRIED = "the person retries now"


async def wait_until(
    run: RunContext,
    until: datetime,
    message: str,
    *,
    ends: Callable[[StopMode], bool] = lambda stop: stop is not StopMode.NONE,
    monotonic: Callable[[], float] = time.monotonic,
) -> str:
    """Wait and report it; returns why the wait ended.

    Args:
        run: The parts of the run.
        until: When the wait is over, in UTC.
        message: Why it is waited, for the person.
        ends: Whether a requested stop ends the wait.
        monotonic: Seconds of a clock that nobody sets; it bounds the wait.
    """
    run.emit(ev.LimitWait(until=until, message=message))
    why = "interrupted"
    try:
        await run.project_state.transact(_noted(Pause(until=until, why=message)))
        why = await _until(run, until, ends, monotonic)
    finally:
        run.emit(ev.LimitWaitEnded(why=why))
        await run.project_state.transact(_noted(None))
    return why


async def changed_within(run: RunContext, seconds: float) -> None:
    """Return at the next change of a document, after `seconds`, or when it is time to look at the clock."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(run.project_state.wait_changed(), min(seconds, LOOK_SECONDS))


async def _until(
    run: RunContext,
    until: datetime,
    ends: Callable[[StopMode], bool],
    monotonic: Callable[[], float],
) -> str:
    longest = (until - run.clock()).total_seconds()
    started = monotonic()
    while True:
        by_wall = (until - run.clock()).total_seconds()
        left = min(by_wall, longest - (monotonic() - started))
        if left <= 0:
            return "the wait is over"
        state = run.docs.state
        if ends(state.stop):
            return who_stopped(state)
        if state.retry_now:
            await run.project_state.transact(forget_retry)
            return RETRIED
        await changed_within(run, left)


@dataclass(frozen=True)
class Outage:
    """A service that cannot be reached."""

    since: float
    """When it began, by a clock that nobody sets."""
    pauses: int = 0


class Backoff:
    """Decides whether and how long to wait after a failure, and waits."""

    def __init__(
        self,
        run: RunContext,
        request: RunRequest,
        *,
        chance: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wait by the settings of `run`; `request` says whether somebody can be asked.

        Args:
            run: The parts of the run; its settings say how long to wait.
            request: Says whether somebody can be asked.
            chance: A number from 0 to 1 that spreads the pauses.
            monotonic: Seconds of a clock that nobody sets.
        """
        self._chance = chance
        self._monotonic = monotonic
        self._run = run
        self._request = request
        self._limits = run.settings.limits
        self._waited = timedelta()
        self._outage: Outage | None = None

    async def after(self, failure: Failure | None) -> bool:
        """Wait where waiting helps; returns whether the failure was waited out, so that the iteration does not count."""
        if failure is None:
            self._waited = timedelta()
        if failure is None or not failure.kind.is_outage:
            self._outage = None
        if failure is not None and failure.kind.is_outage:
            return await self._wait_for_service(failure)
        if failure is None or failure.kind is not FailureClass.USAGE_LIMIT:
            return False
        return self._limits.on_usage_limit != "exit" and await self._wait_for_limit(failure)

    @property
    def outlasted(self) -> str:
        """How long the outage has lasted; empty while there is none."""
        return duration(self._monotonic() - self._outage.since) if self._outage else ""

    async def _wait_for_service(self, failure: Failure) -> bool:
        """Pause, longer each time; returns False when the outage would exceed its maximum."""
        outage = self._outage or Outage(self._monotonic())
        self._outage = Outage(outage.since, outage.pauses + 1)
        pause = timedelta(seconds=self._limits.backoff_seconds) * 2 ** min(outage.pauses, 16)
        # Loops that an outage stopped together must not all ask again in the same second.
        pause = min(pause, MAX_BACKOFF) * (1 + SPREAD * self._chance())
        # What was awake counts: a machine that slept has not seen an outage.
        lasted = timedelta(seconds=self._monotonic() - outage.since)
        if lasted + pause > timedelta(minutes=self._limits.max_outage_minutes):
            return False
        why = await wait_until(self._run, self._run.clock() + pause, failure.message)
        if why == RETRIED:  # the person knows more than we do: begin with short pauses again
            self._outage = Outage(self._monotonic())
        return True

    async def _wait_for_limit(self, failure: Failure) -> bool:
        now = self._run.clock()
        fallback = now + timedelta(minutes=self._limits.fallback_wait_minutes)
        # A reset that is over by our clock, which may be wrong, would be asked for again at once, for ever.
        told = failure.resets_at
        until = told if told is not None and told > now else fallback
        longest = timedelta(minutes=self._limits.max_wait_minutes)
        if self._waited + (until - now) > longest:
            return False
        if self._limits.on_usage_limit == "ask" and not await self._may_wait(failure, until):
            return False
        # What was awake counts: a machine that slept has not been waiting.
        started = time.monotonic()
        await wait_until(self._run, until, failure.message)
        self._waited += timedelta(seconds=time.monotonic() - started)
        return self._run.docs.state.stop is StopMode.NONE

    async def _may_wait(self, failure: Failure, until: datetime) -> bool:
        """Ask whether to wait; without a person the run ends, as with `exit`."""
        if not self._request.interactive:
            return False
        left = duration((until - self._run.clock()).total_seconds())
        then = (
            "Wait until it resets"
            if failure.resets_at
            else "No reset time was reported. Wait and try again"
        )
        summary = (
            f"{failure.message} {then} at {until:%Y-%m-%d %H:%M} UTC, in {left}? "
            "Yes waits and continues automatically; no ends this run with status 2."
        )
        clock = asyncio.create_task(self._answer_for_nobody(), name="ralph-ask-timeout")
        try:
            decided = await decide(self._run, self._request, ApprovalKind.LIMIT, summary)
        finally:
            clock.cancel()
            await asyncio.wait([clock])
        return not isinstance(decided, End) and bool(decided.approved)

    async def _answer_for_nobody(self) -> None:
        """Decide against the wait when nobody has answered for as long as the settings allow."""
        seconds = self._limits.ask_timeout_seconds
        if not seconds:
            return
        await asyncio.sleep(seconds)

        def change(docs: Documents) -> Documents:
            asked = docs.state.approval
            if asked is None or asked.kind is not ApprovalKind.LIMIT or asked.approved is not None:
                return docs
            said = {"approved": False, "reason": f"no answer in {duration(seconds)}"}
            return docs.with_state(
                approval=asked.model_copy(update={**said, "decided_by": "timeout"})
            )

        await self._run.project_state.transact(change)


def _noted(pause: Pause | None) -> Callable[[Documents], Documents]:
    """Note the wait for whoever looks from another terminal."""
    return lambda docs: docs.with_state(waits=pause)


def forget_retry(docs: Documents) -> Documents:
    """Return the documents without the request to retry."""
    return docs.with_state(retry_now=False)


async def forgive(run: RunContext) -> None:
    """Uncount the iteration of a failure that was waited out."""

    def change(docs: Documents) -> Documents:
        return docs.with_state(iteration_count=max(0, docs.state.iteration_count - 1))

    await run.project_state.transact(change)
