"""The success metrics of a long journal, from the few of its lines that can change them."""

import re
from pathlib import Path

from ralph_tui.domain.metrics import Metric, measure
from ralph_tui.store.scan import Progress, Scan, Worth

MEASURED = frozenset(
    {
        *("loop_started", "plan_loaded", "task_changed", "iteration_started"),
        *("iteration_finished", "usage_reported", "gate_finished", "breaker_changed"),
        *("question_asked", "injection_consumed", "approval_requested", "gate_checked"),
        *("tool_started", "tool_finished"),
    }
)
"""What the success metrics look at."""

_CALL = re.compile(rb'"type":"tool_(?:started|finished)","tool_id":"([^"]*)"')
_BUILD = re.compile(rb"uv\s+(?:sync|build)")
_USAGE = b'"type":"usage_reported"'
_CAPACITY = re.compile(rb'"context_capacity":(\d+)')


def measure_journal(path: Path, progress: Progress | None = None) -> tuple[tuple[Metric, ...], int]:
    """The seven success metrics, and how many lines that looked like theirs cannot be read.

    Raises:
        StoreError: The journal cannot be read.
    """
    scan = Scan(path, MEASURED, progress=progress, worth=_telling())
    return measure(found.event for found in scan), scan.skipped


def _telling() -> Worth:
    """Calls and usages are most of a journal; of them only builds and another window are measured."""
    builds: set[bytes] = set()
    capacity = b""

    def worth(line: bytes) -> bool:
        nonlocal capacity
        if call := _CALL.search(line):
            if _BUILD.search(line):
                builds.add(call[1])
            return call[1] in builds
        window = _CAPACITY.search(line)
        known, capacity = capacity, window[1] if window else capacity
        return _USAGE not in line or known != capacity

    return worth
