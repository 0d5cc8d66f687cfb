"""Read the journal's history once, and then only new events. Blocks, so call it in a thread."""

import re
import threading
from collections.abc import Callable
from itertools import islice, takewhile
from pathlib import Path

from ralph_tui.domain.events import Event
from ralph_tui.domain.view.run_history import BUILD, HISTORY_EVENTS, RunHistory, RunHistoryBuilder
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
        feature: Callable[[], str | None] = lambda: None,
    ) -> None:
        """Prepare the library without reading the journal.

        Args:
            live: Returns whether a loop runs now, which the journal does not record.
            feature: Returns the feature to show; None for a project with a single plan.
        """
        self._live = live
        self._feature = feature
        self.path = Layout(root).events
        self._lock = threading.Lock()
        self.unreadable = 0
        """Lines that could not be read."""
        self._begin(None)

    def _begin(self, feature: str | None) -> None:
        self._chronicler, self._chronicled, self._offset = RunHistoryBuilder(feature), feature, 0
        self._accepts = _Builds().accepts

    def refresh(self, progress: Progress | None = None) -> RunHistory:
        """Read the journal up to now; return the history. Only the first call takes long."""
        with self._lock:
            feature = self._feature()
            if self._size() < self._offset or feature != self._chronicled:
                self._begin(feature)
            scan = Scan(
                self.path,
                HISTORY_EVENTS,
                start=self._offset,
                progress=progress,
                accepts=self._accepts,
            )
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
        feature = self._feature()
        chronicler = RunHistoryBuilder(feature)
        found = last_run(self.path)
        if found is not None and found[0] < size - RECENT:
            chronicler.feed(found[0], found[0], found[1])
        elif feature is not None:  # it is unknown which feature's run the first event belongs to
            return None
        start = line_start(self.path, size - RECENT)
        for event in Scan(self.path, HISTORY_EVENTS, start=start, accepts=_Builds().accepts):
            chronicler.feed(*event)
        return self._as_of_now(chronicler.chronicle)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def events(self, start: int, end: int) -> list[Event]:
        found = takewhile(lambda one: not end or one[0] <= end, read_events(self.path, start))
        return [event for _, event in islice(found, MAX_EVENTS)]


class _Builds:
    """Skips tool calls and usage reports, which are most of a journal, except builds and changes of the window."""

    def __init__(self) -> None:
        self._running: set[bytes] = set()
        self._capacity = b""

    def accepts(self, line: bytes) -> bool:
        if call := _STARTED.search(line):
            is_build = _BUILD.search(line) is not None
            if is_build:
                self._running.add(call[1])
            return is_build
        if call := _FINISHED.search(line):
            is_build = call[1] in self._running
            self._running.discard(call[1])
            return is_build
        if window := _CAPACITY.search(line):
            is_known, self._capacity = window[1] == self._capacity, window[1]
            if b'"type":"usage_reported"' in line:
                return not is_known
            self._running.clear()  # a call does not outlive its run
        return True
