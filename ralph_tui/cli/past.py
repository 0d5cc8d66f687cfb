"""What stands in a journal already, on standard output: there may be a million events of it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from ralph_tui.cli.output import Printer, json_of
from ralph_tui.domain.events import Event
from ralph_tui.store.journal import parse, read_lines

_USAGE = b'"type":"usage_reported"'
_UNPRICED = re.compile(rb'"type":"(?:assistant_text|tool_(?:started|finished))"')
"""The bulk of a journal, told without a look at costs and context."""

Told = Iterator[tuple[int, str]]
"""The offset after each event, and its type."""


def told(path: Path, offset: int, show: Printer) -> Told:
    """Show the events from `offset` on.

    Usage is a quarter of a journal and has no line: only the newest is folded, when it matters.
    """
    usage = b""
    for end, line in read_lines(path, offset):
        if _USAGE in line:
            usage = line
            yield end, "usage_reported"
            continue
        if usage and not _UNPRICED.search(line):
            _shown(usage, show)
            usage = b""
        event = _shown(line, show)
        if event is not None:
            yield end, event.type
    _shown(usage, show)


def _shown(line: bytes, show: Printer) -> Event | None:
    event = parse(line) if line else None
    if event is not None:
        show(event)
    return event


def passed_on(path: Path, offset: int) -> Told:
    """Print the same as JSON, which the lines are already."""
    for end, line in read_lines(path, offset):
        if (found := json_of(line)) is not None:
            kind, text = found
            sys.stdout.write(text)
            yield end, kind
