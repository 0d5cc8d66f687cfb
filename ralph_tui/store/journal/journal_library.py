"""Read what the journal tells once, and then only what is new. Blocks; call it in a thread."""

import threading
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.events import Event, GateFinished
from ralph_tui.domain.features import FeaturePast
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.domain.view.run_history import CHRONICLED, Chronicle, Chronicler, TaskPast
from ralph_tui.store.journal.event_scanner import Progress, Scan, line_start
from ralph_tui.store.journal.journal import last_run, read_events
from ralph_tui.store.journal.metrics_cache import MeasuredJournal
from ralph_tui.store.layout import Layout

MAX_EVENTS = 50_000
"""The maximum of events shown of one iteration, which normally has hundreds."""


RECENT = 8 * 1024 * 1024
"""How many bytes at the end of a long journal are read first."""


class JournalLibrary:
    """The journal of one project for the screens that look back."""

    def __init__(
        self,
        root: Path,
        live: Callable[[], bool] = lambda: True,
        past: Callable[[], FeaturePast | None] = lambda: None,
    ) -> None:
        """Read nothing yet.

        Args:
            root: The project's directory.
            live: Tells whether a loop runs now, which the journal cannot.
            past: Tells which feature to look back at; None where the project has one plan.
        """
        self._live = live
        self._past = past
        self.path = Layout(root).events
        self._lock = threading.Lock()
        self._chronicled: FeaturePast | None = None
        self._chronicler = Chronicler()
        self._offset = 0
        self.unreadable = 0
        """Lines that could not be read."""
        self._measuring = threading.Lock()
        self._counted: FeaturePast | None = None
        self._measured = MeasuredJournal(self.path)

    def refresh(self, progress: Progress | None = None) -> Chronicle:
        """Read everything up to now; only the first call takes long.

        Raises:
            StoreError: The journal cannot be read.
        """
        with self._lock:
            past = self._past()
            if self._shrunk(self._offset) or past != self._chronicled:
                self._chronicler, self._offset, self._chronicled = Chronicler(past), 0, past
            scan = Scan(self.path, CHRONICLED, start=self._offset, progress=progress)
            try:
                for found in scan:
                    self._chronicler.feed(*found)
                    self._offset = found.end
                self._offset = scan.end
            finally:
                self.unreadable += scan.skipped
            return self._now(self._chronicler.chronicle)

    def _now(self, known: Chronicle) -> Chronicle:
        return known if self._live() else known.over(self._size())

    def recent(self) -> Chronicle | None:
        """Return the newest iterations of a long journal, or None when reading all of it is as fast.

        Earlier events are unknown, so the phase and the open tasks may differ.

        Raises:
            StoreError: The journal cannot be read.
        """
        size = self._size()
        if size - self._offset <= RECENT:
            return None
        past = self._past()
        chronicler = Chronicler(past)
        found = last_run(self.path)
        if found is not None and found[0] < size - RECENT:
            chronicler.feed(found[0], found[0], found[1])
        elif past is not None:  # whose run the end begins in is not known
            return None
        for event in Scan(self.path, CHRONICLED, start=line_start(self.path, size - RECENT)):
            chronicler.feed(*event)
        return self._now(chronicler.chronicle)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def _shrunk(self, read: int) -> bool:
        """Return whether the journal was replaced by a new one, as `ralph reset` does."""
        return self._size() < read

    def events(self, start: int, end: int) -> list[Event]:
        """Return the events between two offsets, at most `MAX_EVENTS`; to the end when `end` is 0."""
        return list(islice(self._between(start, end), MAX_EVENTS))

    def _between(self, start: int, end: int) -> Iterator[Event]:
        for offset, event in read_events(self.path, start):
            if end and offset > end:
                return
            yield event

    def task_past(self, task_id: str, progress: Progress | None = None) -> TaskPast:
        """Return the attempts at a task, and the receipts of its last claim.

        Raises:
            StoreError: The journal cannot be read.
        """
        iterations = self.refresh(progress).iterations
        attempts = tuple(it for it in iterations if it.task_id == task_id)
        for attempt in reversed(attempts):
            gates = [
                event
                for event in self._between(attempt.start, attempt.end)
                if isinstance(event, GateFinished) and event.task_id == task_id
            ]
            if gates:
                return TaskPast(attempts, gates[-1].receipts)
        return TaskPast(attempts)

    def metrics(self, progress: Progress | None = None) -> tuple[Metric, ...]:
        """Return the seven success metrics of the feature; only the first call takes long."""
        with self._measuring:
            past = self._past()
            if self._shrunk(self._measured.offset) or past != self._counted:
                self._measured, self._counted = MeasuredJournal(self.path, past), past
            return self._measured.metrics(progress)
