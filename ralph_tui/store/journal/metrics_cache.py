"""Compute the success metrics of a long journal from the few lines that can change them."""

import re
from pathlib import Path

from ralph_tui.domain.features import FeatureFilter
from ralph_tui.domain.view.metrics import MEASURED, Meter, Metric
from ralph_tui.store.journal.event_scanner import Progress, Scan, any_of

_RARE = any_of(MEASURED - {"tool_started", "tool_finished", "usage_reported"})
_BUILD = rb"uv\s+(?:sync|build)"
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
        self._meter, self._filter = Meter(past), _MetricsFilter()
        self.offset = 0
        self.unreadable = 0

    def metrics(self, progress: Progress | None = None) -> tuple[Metric, ...]:
        """Return the seven success metrics up to now. Only the first call takes long."""
        scan = Scan(
            self._path, MEASURED, start=self.offset, progress=progress, line_filter=self._filter
        )
        try:
            for found in scan:
                self._meter.feed(found.event)
                self.offset = found.end
            self.offset = scan.end
        finally:
            self.unreadable += scan.skipped
        return self._meter.metrics


class _MetricsFilter:
    """Skips tool calls and usage reports, which are most of a journal, except builds and changes of the window."""

    def __init__(self) -> None:
        self._builds: set[bytes] = set()
        """Ids of the build commands that are running."""
        self._capacity = b""
        self.pattern = self._build_pattern()

    def _build_pattern(self) -> re.Pattern[bytes]:
        """Return a pattern for the lines that can matter now, because each alternative costs a tenth of the scan."""
        known = rb',"context_tokens":\d+,"context_capacity":' + (self._capacity or b"-") + b"[,}]"
        finished = b'|tool_finished"' if self._builds else b""
        return re.compile(
            b'"type":"(?:(?:' + _RARE + b')"'
            rb'|tool_started"[^\n]*?' + _BUILD + finished + b'|usage_reported"(?!' + known + b"))"
        )

    def accepts(self, line: bytes) -> bool:
        before = (bool(self._builds), self._capacity)
        accepted = self._update(line)
        if before != (bool(self._builds), self._capacity):
            self.pattern = self._build_pattern()
        return accepted

    def _update(self, line: bytes) -> bool:
        if call := _STARTED.search(line):
            self._builds.add(call[1])
        elif call := _FINISHED.search(line):
            is_build = call[1] in self._builds
            self._builds.discard(call[1])
            return is_build
        elif window := _CAPACITY.search(line):
            self._capacity = window[1]
            if b'"type":"loop_started"' in line:
                self._builds.clear()  # a call does not outlive its run
        return True
