"""Connects the loop to the screen: events are queued, then reduced to a view.

    launch.run / launch.watch -> sink -> deque -> flush (20 Hz) -> view, stopwatch, outcome, batch

The loop runs on the app's own event loop. Its sink only appends; everything slow happens in the
flush, so the number of repaints does not depend on the number of events.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.events import (
    ApprovalRequested,
    Event,
    InjectionQueued,
    LoopFinished,
    LoopFound,
    LoopLost,
    LoopStarted,
    Notice,
    PlanLoaded,
    TaskChanged,
)
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.launch import Launch
from ralph_tui.store.crash_reports import write_report


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The time since the loop started, or its duration once it has ended."""

    started: datetime | None = None
    took: float | None = None

    def after(self, event: Event, now: datetime) -> "Stopwatch":
        """Return the stopwatch after one more event; an event without a time counts as now."""
        if isinstance(event, LoopStarted):
            return Stopwatch(started=event.time or now)
        if isinstance(event, LoopFinished):
            return replace(self, took=event.seconds or self.elapsed(event.time or now))
        return self

    def elapsed(self, now: datetime) -> float:
        """Return the elapsed seconds; never negative, even if the clock is set back."""
        if self.took is not None:
            return self.took
        return max(0.0, (now - self.started).total_seconds()) if self.started else 0.0


FLUSH_SECONDS = 1 / 20
MAX_BATCH = 20_000
"""Maximum number of events per flush; more would delay keys."""


_TRACKED = frozenset({LoopStarted, LoopFinished, LoopFound, ApprovalRequested})


class Bridge:
    """Runs or watches one project's loop, and reduces its events to a view."""

    def __init__(self, launch: Launch, clock: Callable[[], datetime]) -> None:
        self._launch = launch
        self._clock = clock
        self._queue: deque[tuple[Event, bool]] = deque()
        """Events, each with whether it may repeat what is already known."""
        self.view = LoopView()
        self.stopwatch = Stopwatch()
        self.finished: LoopFinished | None = None
        """How the last run ended; None while one runs and before the first."""
        self.on_first: Callable[[], None] = lambda: None
        """Called when an event arrives and the queue was empty."""
        self.running = False
        """Whether the loop runs in this process."""
        self.whole = False
        """Whether the last run covers all phases: for a request typed here, or continuing after the first run."""
        self.feedback: str | None = None
        """The feedback for a new plan, until the plan is submitted; None otherwise."""
        self._done = False
        """Whether a run has completed, so that the next one runs all phases again."""
        self._own_run = False
        """Whether the last run was one of this process."""

    @property
    def live(self) -> bool:
        return self.running or self.view.elsewhere is not None

    @property
    def events_are_new(self) -> bool:
        """Whether events are new; otherwise they are the past of a loop about to be attached to."""
        return self._own_run or self.live

    def ended_message(self) -> str:
        return "" if self.live and self.finished is None else "The loop has already ended."

    @property
    def exit_code(self) -> int:
        if self.running and self.finished is None:
            return ExitCode.INTERRUPTED
        return self.finished.exit_code if self.finished and self._own_run else ExitCode.COMPLETE

    def sink(self, event: Event) -> None:
        self._take(event, may_repeat=False)

    def _take(self, event: Event, *, may_repeat: bool) -> None:
        if not self._queue:
            self.on_first()
        self._queue.append((event, may_repeat))

    def flush(self) -> list[Event]:
        """Reduce the events since the last flush, and return those that the stream should show."""
        shown: list[Event] = []
        for _ in range(min(len(self._queue), MAX_BATCH)):
            event, may_repeat = self._queue.popleft()
            before, self.view = self.view, reduce(self.view, event)
            if _is_known_change(event, before) or (
                may_repeat and _repeats(event, before, self.view)
            ):
                continue
            shown.append(event)
            if type(event) in _TRACKED:
                self._track_run(event)
        if self._queue:
            self.on_first()
        return shown

    @property
    def own_result(self) -> LoopFinished | None:
        return self.finished if self._own_run else None

    def _track_run(self, event: Event) -> None:
        if isinstance(event, ApprovalRequested):
            self.feedback = None if self.feedback is None else ""
            return
        self.stopwatch = self.stopwatch.after(event, self._clock())
        if isinstance(event, LoopFinished):
            self.finished = event
        elif isinstance(event, LoopStarted):
            self.finished = None
        elif isinstance(event, LoopFound):
            self._own_run = False

    def begin(self) -> None:
        """Show that a run was requested, because its first event takes a second or two."""
        self.running, self.finished = True, None
        if self.view.is_known:
            self.view = self.view.model_copy(update={"run_state": RunState.STARTING})

    async def run(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop to its end, for a new request, to replan, or to continue; failures and crashes become events."""
        self.running, self._own_run, self.finished = True, True, None
        try:
            ended = await self._run_launch(request, replans=replans)
            self._done = self._done or ended.status is LoopStatus.COMPLETE
        except RalphError as error:
            self.sink(_failed(error.message, error.hint, error.exit_code))
        except Exception as error:  # noqa: BLE001 - the screen must outlive any bug in the loop
            text = f"The loop crashed: {type(error).__name__}: {one_line(str(error))}"
            hint = "This is a bug in ralph. All progress is saved in .ralph/."
            details = await self._write_crash_report(error)
            self.sink(_failed(text, f"{hint} {details}", ExitCode.ERROR))
        finally:
            self.running = False

    async def _run_launch(self, request: str, *, replans: bool) -> LoopFinished:
        launch = self._launch
        self.feedback, self.whole = request if replans else None, False
        if replans and launch.run_replan is not None:
            return await launch.run_replan(request, self.sink)
        self.whole = bool(request) or (self._done and launch.run_request is not None)
        if self.whole and launch.run_request is not None:
            return await launch.run_request(request, self.sink)
        return await launch.run(self.sink)

    async def watch(self) -> None:
        """Follow the project while no loop runs here; an error becomes an event."""
        try:
            await self._launch.watch(lambda event: self._take(event, may_repeat=True))
        except RalphError as error:
            self._watch_failed(str(error))
        except Exception as error:  # noqa: BLE001 - losing the watcher must not lose the screen
            what = f"Watching .ralph/ failed: {type(error).__name__}: {one_line(str(error))}."
            details = await self._write_crash_report(error)
            self._watch_failed(f"{what} {details} Restart the screen to see new changes.")

    async def _write_crash_report(self, error: Exception) -> str:
        path = await asyncio.to_thread(write_report, error, self._launch.root)
        return f"The details are in {path}."

    def _watch_failed(self, why: str) -> None:
        self.sink(Notice(level="error", text=why))
        if self.view.elsewhere is not None:
            self.sink(LoopLost(pid=self.view.elsewhere.pid))


def _is_known_change(event: Event, before: LoopView) -> bool:
    return isinstance(event, TaskChanged) and before.tasks.get(event.task.id) == event.task


def _repeats(event: Event, before: LoopView, after: LoopView) -> bool:
    if isinstance(event, PlanLoaded):
        return bool(before.tasks) and after.tasks is before.tasks
    return isinstance(event, InjectionQueued) and after.injections is before.injections


def _failed(reason: str, hint: str, exit_code: int) -> LoopFinished:
    return LoopFinished(status=LoopStatus.ERROR, reason=reason, hint=hint, exit_code=int(exit_code))
