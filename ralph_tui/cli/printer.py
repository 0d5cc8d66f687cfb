"""Where lines and JSON go: standard output, written by a thread so that a slow pipe delays nobody."""

import asyncio
import contextlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol, TextIO, get_args

from pydantic_core import from_json

from ralph_tui.cli.console import discard_stdout
from ralph_tui.domain.events import Event, LoopFinished
from ralph_tui.present.events.event_lines import EventPrinter, LogLine
from ralph_tui.present.text import glyphs
from ralph_tui.store.journal.journal import parse, read_lines


class Printer(Protocol):
    """Writes one event."""

    def __call__(self, event: Event) -> None:
        """Write it; `OSError` when nobody reads any more."""
        ...


def json_printer(out: TextIO) -> Printer:
    """One JSON object per line; ASCII, so hostile text is inert and any locale can show it."""

    def write(event: Event) -> None:
        stamped = event if event.time else event.model_copy(update={"time": datetime.now(UTC)})
        fields = stamped.model_dump(mode="json")
        ordered = {"type": fields.pop("type"), **fields}
        out.write(json.dumps(ordered, ensure_ascii=True, allow_nan=False) + "\n")
        out.flush()

    return write


_TYPES = frozenset(kind.model_fields["type"].default for kind in get_args(get_args(Event)[0]))


def json_of(line: bytes) -> tuple[str, str] | None:
    """The type of a journal's line and the line to print; None for what is no event.

    It is passed on as it is where it is ASCII, which is ten times as quick as an event and back.
    """
    try:
        fields = from_json(line, allow_inf_nan=False)
    except ValueError:
        return None
    kind = fields.get("type") if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        return None
    plain = line.isascii()
    return kind, line.decode() if plain else json.dumps(fields, ensure_ascii=True) + "\n"


def line_printer(out: TextIO, *, flushed: bool = True) -> Printer:
    """Readable lines, coloured on a terminal unless NO_COLOR is set.

    Where they are not `flushed` one by one, the caller does it: a long past has half a million of them.
    """
    printer = EventPrinter(glyphs.choose(encoding=out.encoding))
    show = line_writer(out)

    def write(event: Event) -> None:
        for line in printer.lines(event):
            show(line)
        if flushed:
            out.flush()

    return write


def line_writer(out: TextIO) -> Callable[[LogLine], None]:
    """Writes lines; Rich is only asked for colour, never to read markup."""
    if not out.isatty():

        def plain(line: LogLine) -> None:
            out.write(f"{line}\n")

        return plain
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, markup=False, emoji=False, highlight=False)
    return lambda line: console.print(Text(str(line), style=line.style), soft_wrap=True)


class Output:
    """Prints the events of one run; `sink` never blocks. Made and finished on one event loop."""

    def __init__(self, printer: Printer, on_closed: Callable[[], None]) -> None:
        """Start the writing thread; `on_closed` is called on the loop when nobody reads any more."""
        self._printer = printer
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._written = asyncio.Event()
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._finished = False
        # A daemon: a reader that never reads must not keep the process from ending.
        threading.Thread(target=self._write, name="ralph-output", daemon=True).start()

    def sink(self, event: Event) -> None:
        """Take an event; live text is for screens, and nothing follows the last event."""
        if event.transient or self._finished:
            return
        self._finished = isinstance(event, LoopFinished)
        self._events.put(event)

    async def finish(self) -> None:
        """Wait until everything is written."""
        self._events.put(None)
        await self._written.wait()

    def _write(self) -> None:
        is_open = True
        while (event := self._events.get()) is not None:
            if not is_open:
                continue
            try:
                self._printer(event)
            except OSError:  # the reader is gone (`| head`), or its disk is full
                is_open = False
                discard_stdout()
                self._tell_loop(self._on_closed)
        self._tell_loop(self._written.set)

    def _tell_loop(self, what: Callable[[], object]) -> None:
        # A loop that is closed has been cut off; then nobody waits for us either.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(what)


_USAGE = b'"type":"usage_reported"'
_UNPRICED = re.compile(rb'"type":"(?:assistant_text|tool_(?:started|finished))"')
"""The bulk of a journal, told without a look at costs and context."""

Shown = Iterator[tuple[int, str]]
"""The offset after each event, and its type."""


def show_past(path: Path, offset: int, show: Printer) -> Shown:
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


def pass_on_json(path: Path, offset: int) -> Shown:
    """Print the same as JSON, which the lines are already."""
    for end, line in read_lines(path, offset):
        if (found := json_of(line)) is not None:
            kind, text = found
            sys.stdout.write(text)
            yield end, kind
