"""Read the journal's history once, and then only new events. Blocks, so call it in a thread."""

import re
import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.events import Event, GateFinished
from ralph_tui.domain.features import FeatureFilter
from ralph_tui.domain.view.feature_events import FeatureEvents
from ralph_tui.domain.view.metrics import BUILD, MEASURED, Meter, Metric, metrics_of
from ralph_tui.domain.view.run_history import (
    HISTORY_EVENTS,
    RunHistory,
    RunHistoryBuilder,
    TaskHistory,
)
from ralph_tui.store.journal.event_scanner import Progress, Scan, line_start
from ralph_tui.store.journal.journal import last_run, read_events
from ralph_tui.store.layout import Layout

MAX_EVENTS = 50_000
"""The maximum number of events shown for one iteration, which normally has hundreds."""

_BUILD = re.compile(BUILD.pattern.encode())
_STARTED = re.compile(rb'"type":"tool_started","tool_id":"([^"]*)"')
_FINISHED = re.compile(rb'"type":"tool_finished","tool_id":"([^"]*)"')
_CAPACITY = re.compile(rb'"context_capacity":(\d+)')

RECENT = 8 * 1024 * 1024
"""The number of bytes at the end of a long journal that are read first."""


class JournalLibrary:
    """The history of one project, for the screens that show past iterations."""

    def __init__(
        self,
        root: Path,
        live: Callable[[], bool] = lambda: True,
        past: Callable[[], FeatureFilter | None] = lambda: None,
    ) -> None:
        """Prepare the library without reading the journal.

        Args:
            live: Returns whether a loop runs now, which the journal does not record.
            past: Returns the feature to show; None for a project with a single plan.
        """
        self._live = live
        self._past = past
        self.path = Layout(root).events
        self._lock = threading.Lock()
        self._chronicled: FeatureFilter | None = None
        self._chronicler = RunHistoryBuilder()
        self._offset = 0
        self.unreadable = 0
        """Lines that could not be read."""
        self._measuring = threading.Lock()
        self._begin_measuring(None)

    def _begin_measuring(self, past: FeatureFilter | None) -> None:
        self._meter, self._counted, self._measured = Meter(FeatureEvents(past)), past, 0
        self._builds: set[bytes] = set()
        """Ids of the build commands that are running."""
        self._capacity = b""

    def refresh(self, progress: Progress | None = None) -> RunHistory:
        """Read the journal up to now; return the history. Only the first call takes long."""
        with self._lock:
            past = self._past()
            if self._was_replaced(self._offset) or past != self._chronicled:
                self._chronicler, self._offset, self._chronicled = RunHistoryBuilder(past), 0, past
            scan = Scan(self.path, HISTORY_EVENTS, start=self._offset, progress=progress)
            try:
                for found in scan:
                    self._chronicler.feed(*found)
                    self._offset = found.end
                self._offset = scan.end
            finally:
                self.unreadable += scan.skipped
            return self._as_of_now(self._chronicler.chronicle)

    def _as_of_now(self, known: RunHistory) -> RunHistory:
        return known if self._live() else known.over(self._size())

    def recent(self) -> RunHistory | None:
        """Return the newest iterations of a long journal, or None when `refresh` is as fast.

        Earlier events are not read, so the phase and the open tasks may be wrong.
        """
        size = self._size()
        if size - self._offset <= RECENT:
            return None
        past = self._past()
        chronicler = RunHistoryBuilder(past)
        found = last_run(self.path)
        if found is not None and found[0] < size - RECENT:
            chronicler.feed(found[0], found[0], found[1])
        elif past is not None:  # it is unknown which feature's run the first event belongs to
            return None
        for event in Scan(self.path, HISTORY_EVENTS, start=line_start(self.path, size - RECENT)):
            chronicler.feed(*event)
        return self._as_of_now(chronicler.chronicle)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def _was_replaced(self, read: int) -> bool:
        return self._size() < read

    def events(self, start: int, end: int) -> list[Event]:
        return list(islice(self.between(start, end), MAX_EVENTS))

    def between(self, start: int, end: int) -> Iterator[Event]:
        for offset, event in read_events(self.path, start):
            if end and offset > end:
                return
            yield event

    def task_past(self, task_id: str, progress: Progress | None = None) -> TaskHistory:
        """Return the attempts at a task, and the check results of its last claim."""
        attempts = tuple(it for it in self.refresh(progress).iterations if it.task_id == task_id)
        for attempt in reversed(attempts):
            gates = [
                event
                for event in self.between(attempt.start, attempt.end)
                if isinstance(event, GateFinished) and event.task_id == task_id
            ]
            if gates:
                return TaskHistory(attempts, gates[-1].receipts)
        return TaskHistory(attempts)

    def metrics(self, progress: Progress | None = None) -> tuple[Metric, ...]:
        with self._measuring:
            past = self._past()
            if self._was_replaced(self._measured) or past != self._counted:
                self._begin_measuring(past)
            scan = Scan(
                self.path, MEASURED, start=self._measured, progress=progress, accepts=self._counts
            )
            for found in scan:
                self._meter.feed(found.event)
                self._measured = found.end
            self._measured = scan.end
            return metrics_of(self._meter)

    def _counts(self, line: bytes) -> bool:
        """Skip tool calls and usage reports, which are most of a journal, except builds and changes of the window."""
        if call := _STARTED.search(line):
            is_build = _BUILD.search(line) is not None
            if is_build:
                self._builds.add(call[1])
            return is_build
        if call := _FINISHED.search(line):
            is_build = call[1] in self._builds
            self._builds.discard(call[1])
            return is_build
        if window := _CAPACITY.search(line):
            is_known, self._capacity = window[1] == self._capacity, window[1]
            if b'"type":"usage_reported"' in line:
                return not is_known
            self._builds.clear()  # a call does not outlive its run
        return True
