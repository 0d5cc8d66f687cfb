"""Compute the success metrics of a long journal from the few lines that can change them."""

import re
from pathlib import Path

from ralph_tui.domain.features import FeatureFilter
from ralph_tui.domain.view.metrics import MEASURED, Meter, Metric
from ralph_tui.store.journal.event_scanner import Progress, Scan

_BUILD = re.compile(rb"uv\s+(?:sync|build)")
_STARTED = re.compile(rb'"type":"tool_started","tool_id":"([^"]*)"')
_FINISHED = re.compile(rb'"type":"tool_finished","tool_id":"([^"]*)"')
_CAPACITY = re.compile(rb'"context_capacity":(\d+)')


class MeasuredJournal:
    """The metrics of a growing journal, read incrementally. Blocks; use it from one thread at a time.

    Attributes:
        offset: The offset up to which the journal was read.
        unreadable: The number of relevant lines that could not be parsed.
    """

    def __init__(self, path: Path, past: FeatureFilter | None = None) -> None:
        """Measure one feature, or all features together when `past` is None. Reads nothing yet."""
        self._path = path
        self._meter = Meter(past)
        self._builds: set[bytes] = set()
        """Ids of the build commands that are running."""
        self._capacity = b""
        self.offset = 0
        self.unreadable = 0

    def metrics(self, progress: Progress | None = None) -> tuple[Metric, ...]:
        """Return the seven success metrics up to now. Only the first call takes long."""
        scan = Scan(
            self._path, MEASURED, start=self.offset, progress=progress, accepts=self._accepts
        )
        try:
            for found in scan:
                self._meter.feed(found.event)
                self.offset = found.end
            self.offset = scan.end
        finally:
            self.unreadable += scan.skipped
        return self._meter.metrics

    def _accepts(self, line: bytes) -> bool:
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
