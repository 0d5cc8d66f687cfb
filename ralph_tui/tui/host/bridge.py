"""Between the loop and the screen: a queue, and the folds that are drained into it.

    launch.run / launch.watch -> sink -> deque -> flush (20 Hz) -> view, stopwatch, outcome, batch

The loop runs on the app's own event loop. Its sink only appends; whatever is slow happens in the
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
    LoopStatus,
    Notice,
    PlanLoaded,
    TaskChanged,
)
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.attribution import CHANGED_ON_DISK
from ralph_tui.engine.control.launch import Launch
from ralph_tui.store.crash_reports import write_report


@dataclass(frozen=True, slots=True)
class Stopwatch:
    """The time since the loop started, or what it took when it is over."""

    started: datetime | None = None
    took: float | None = None

    def after(self, event: Event, now: datetime) -> "Stopwatch":
        """The watch after one more event; events without a time count as now."""
        if isinstance(event, LoopStarted):
            return Stopwatch(started=event.time or now)
        if isinstance(event, LoopFinished):
            return replace(self, took=event.seconds or self.elapsed(event.time or now))
        return self

    def elapsed(self, now: datetime) -> float:
        """Seconds; never negative, whatever the clock does."""
        if self.took is not None:
            return self.took
        return max(0.0, (now - self.started).total_seconds()) if self.started else 0.0


FLUSH_SECONDS = 1 / 20
MAX_BATCH = 20_000
"""Events per flush; more than that and keys would have to wait."""


_MARKS = frozenset({LoopStarted, LoopFinished, LoopFound, ApprovalRequested})


class Bridge:
    """Runs one launch and keeps the folds of what it says."""

    def __init__(self, launch: Launch, clock: Callable[[], datetime]) -> None:
        """Nothing runs yet."""
        self._launch = launch
        self._clock = clock
        self._queue: deque[tuple[Event, bool]] = deque()
        """Events, each with whether it may repeat what is known."""
        self.view = LoopView()
        self.stopwatch = Stopwatch()
        self.finished: LoopFinished | None = None
        """The end of the last run; None while one runs and before the first."""
        self.on_first: Callable[[], None] = lambda: None
        """Called when something comes and nothing was waiting to be shown."""
        self.running = False
        """The loop runs in this process."""
        self.whole = False
        """The last run goes the whole way: for a request typed here, or on from what it was begun for."""
        self.feedback: str | None = None
        """What the plan is made anew with, until it is handed in; None while something else is done."""
        self._done = False
        """What the screen was opened for is done, so that the next run goes on from there."""
        self._ours = False

    @property
    def live(self) -> bool:
        """A loop runs, here or in the process we are attached to."""
        return self.running or self.view.elsewhere is not None

    @property
    def is_news(self) -> bool:
        """What comes happens now; else it is the past of a loop that we are about to attach to."""
        return self._ours or self.live

    def over(self) -> str:
        """That no loop goes on any more, in words; empty while one does."""
        return "" if self.live and self.finished is None else "The loop has ended meanwhile."

    @property
    def exit_code(self) -> int:
        """What the process should return when the person leaves now; others' loops do not count."""
        if self.running and self.finished is None:
            return ExitCode.INTERRUPTED
        return self.finished.exit_code if self.finished and self._ours else ExitCode.COMPLETE

    def sink(self, event: Event) -> None:
        """Take an event; the next flush shows it."""
        self._take(event, may_repeat=False)

    def _sink_watched(self, event: Event) -> None:
        """After a run the watcher says again what is known."""
        self._take(event, may_repeat=True)

    def _take(self, event: Event, *, may_repeat: bool) -> None:
        if not self._queue:
            self.on_first()
        self._queue.append((event, may_repeat))

    def flush(self) -> list[Event]:
        """Fold what has come since the last flush, and return what of it is worth a line."""
        news: list[Event] = []
        for _ in range(min(len(self._queue), MAX_BATCH)):
            event, may_repeat = self._queue.popleft()
            before, self.view = self.view, reduce(self.view, event)
            if _is_back(event, before) or (may_repeat and _repeats(event, before, self.view)):
                continue
            news.append(self._launch.controls.attribution.told(event))
            if type(event) in _MARKS:
                self._mark(event)
        if self._queue:
            self.on_first()
        return news

    def _mark(self, event: Event) -> None:
        """A run began or ended, or is not ours; or what it made is to be agreed to."""
        if isinstance(event, ApprovalRequested):
            self.feedback = None if self.feedback is None else ""
            return
        self.stopwatch = self.stopwatch.after(event, self._clock())
        if isinstance(event, LoopFinished):
            self.finished = event
        elif isinstance(event, LoopStarted):
            self.finished = None
        elif isinstance(event, LoopFound):
            self._ours = False

    def begin(self) -> None:
        """It was asked for here; what it does before its first word takes a second or two."""
        self.running, self.finished = True, None
        if self.view.is_known:
            self.view = self.view.model_copy(update={"run_state": RunState.STARTING})

    async def run(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop to its end: for a new request, to plan anew, or on; a failure to start and a crash become events like any other."""
        self.running, self._ours, self.finished = True, True, None
        try:
            ended = await self._begun(request, replans=replans)
            self._done = self._done or ended.status is LoopStatus.COMPLETE
        except RalphError as error:
            self.sink(_failed(error.message, error.hint, error.exit_code))
        except Exception as error:  # noqa: BLE001 - the screen must outlive any bug in the loop
            text = f"The loop crashed: {type(error).__name__}: {one_line(str(error))}"
            hint = "This is a bug in ralph; what was done so far is safe in .ralph/."
            details = await self._written_down(error)
            self.sink(_failed(text, f"{hint} {details}", ExitCode.ERROR))
        finally:
            self.running = False

    async def _begun(self, request: str, *, replans: bool) -> LoopFinished:
        """The run that was asked for, to its end."""
        launch = self._launch
        self.feedback, self.whole = request if replans else None, False
        if replans and launch.run_replan is not None:
            return await launch.run_replan(request, self.sink)
        self.whole = bool(request) or (self._done and launch.run_request is not None)
        if self.whole and launch.run_request is not None:
            return await launch.run_request(request, self.sink)
        return await launch.run(self.sink)

    async def watch(self) -> None:
        """Follow the project while no loop runs here; trouble is said, not raised."""
        try:
            await self._launch.watch(self._sink_watched)
        except RalphError as error:
            self._lose_sight(str(error))
        except Exception as error:  # noqa: BLE001 - losing the watcher must not lose the screen
            what = f"Watching .ralph/ failed: {type(error).__name__}: {one_line(str(error))}."
            details = await self._written_down(error)
            self._lose_sight(f"{what} {details} Changes are seen again by a new screen.")

    async def _written_down(self, error: Exception) -> str:
        """Where the details of a bug are."""
        path = await asyncio.to_thread(write_report, error, self._launch.root)
        return f"The details are in {path}."

    def _lose_sight(self, why: str) -> None:
        self.sink(Notice(level="error", text=why))
        if self.view.elsewhere is not None:
            self.sink(LoopLost(pid=self.view.elsewhere.pid))


def _is_back(event: Event, before: LoopView) -> bool:
    """Whether it is a change that was shown when it was made here, and is seen on the disk now."""
    if not isinstance(event, TaskChanged) or event.reason != CHANGED_ON_DISK:
        return False
    return before.tasks.get(event.task.id) == event.task


def _repeats(event: Event, before: LoopView, after: LoopView) -> bool:
    """Whether nothing was told that had not been; the fold has compared it already."""
    if isinstance(event, PlanLoaded):
        return bool(before.tasks) and after.tasks is before.tasks
    return isinstance(event, InjectionQueued) and after.injections is before.injections


def _failed(reason: str, hint: str, exit_code: int) -> LoopFinished:
    return LoopFinished(status=LoopStatus.ERROR, reason=reason, hint=hint, exit_code=int(exit_code))
