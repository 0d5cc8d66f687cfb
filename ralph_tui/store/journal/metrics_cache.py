"""Compute the success metrics of a long journal from the few lines that can change them."""

import re
from pathlib import Path

from ralph_tui.domain.features import FeaturePast
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
        offset: Up to where it was read.
        unreadable: Lines that looked as if they mattered and cannot be read.
    """

    def __init__(self, path: Path, past: FeaturePast | None = None) -> None:
        """Read nothing yet; None counts all features together."""
        self._path = path
        self._meter, self._telling = Meter(past), _Telling()
        self.offset = 0
        self.unreadable = 0

    def metrics(self, progress: Progress | None = None) -> tuple[Metric, ...]:
        """Return the seven success metrics up to now; only the first call takes long.

        Raises:
            StoreError: The journal cannot be read.
        """
        scan = Scan(self._path, MEASURED, start=self.offset, progress=progress, sieve=self._telling)
        try:
            for found in scan:
                self._meter.feed(found.event)
                self.offset = found.end
            self.offset = scan.end
        finally:
            self.unreadable += scan.skipped
        return self._meter.metrics


class _Telling:
    """Skips calls and usages, which are most of a journal, except builds and a changed context window."""

    def __init__(self) -> None:
        self._builds: set[bytes] = set()
        """Calls that run."""
        self._capacity = b""
        self.pattern = self._made()

    def _made(self) -> re.Pattern[bytes]:
        """Build the pattern from what can matter now; each alternative costs a tenth of the scan."""
        known = rb',"context_tokens":\d+,"context_capacity":' + (self._capacity or b"-") + b"[,}]"
        finished = b'|tool_finished"' if self._builds else b""
        return re.compile(
            b'"type":"(?:(?:' + _RARE + b')"'
            rb'|tool_started"[^\n]*?' + _BUILD + finished + b'|usage_reported"(?!' + known + b"))"
        )

    def worth(self, line: bytes) -> bool:
        """Return whether a line can change the metrics, and remember what it said."""
        before = (bool(self._builds), self._capacity)
        told = self._heard(line)
        if before != (bool(self._builds), self._capacity):
            self.pattern = self._made()
        return told

    def _heard(self, line: bytes) -> bool:
        if call := _STARTED.search(line):
            self._builds.add(call[1])
        elif call := _FINISHED.search(line):
            mine = call[1] in self._builds
            self._builds.discard(call[1])
            return mine
        elif window := _CAPACITY.search(line):
            self._capacity = window[1]
            if b'"type":"loop_started"' in line:
                self._builds.clear()  # a call does not outlive its run
        return True
