"""Prints events as lines or JSON, in a thread of its own, so that a slow pipe does not delay the run."""

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Protocol, TextIO

from ralph_tui.cli.console import discard_stdout
from ralph_tui.domain.events import Event, LoopFinished
from ralph_tui.present.text import glyphs
from ralph_tui.present.timeline.event_lines import EventPrinter, LogLine


class Printer(Protocol):
    """Writes one event."""

    def __call__(self, event: Event) -> None:
        """Write the event. Raises OSError when the reader is gone."""
        ...


def json_printer(out: TextIO) -> Printer:
    """Return a printer of one JSON object per line, in ASCII, which keeps hostile text inert in any locale."""

    def write(event: Event) -> None:
        stamped = event if event.time else event.model_copy(update={"time": datetime.now(UTC)})
        fields = stamped.model_dump(mode="json")
        ordered = {"type": fields.pop("type"), **fields}
        out.write(json.dumps(ordered, ensure_ascii=True, allow_nan=False) + "\n")
        out.flush()

    return write


def line_printer(out: TextIO, *, verbose: bool = False) -> Printer:
    """Return a printer of readable lines, colored on a terminal unless NO_COLOR is set.

    Args:
        verbose: Also print the output of tools and checks.
    """
    printer = EventPrinter(glyphs.choose(encoding=out.encoding), verbose=verbose)
    show = line_writer(out)

    def write(event: Event) -> None:
        for line in printer.lines(event):
            show(line)
        out.flush()

    return write


def line_writer(out: TextIO) -> Callable[[LogLine], None]:
    """Return a function that writes a line; Rich adds color and never interprets markup."""
    if not out.isatty():

        def plain(line: LogLine) -> None:
            out.write(f"{line}\n")

        return plain
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, markup=False, emoji=False, highlight=False)
    return lambda line: console.print(Text(str(line), style=line.style), soft_wrap=True)


class Output:
    """Prints the events of one run; `sink` never blocks. Create and finish it on one event loop."""

    def __init__(self, printer: Printer, on_closed: Callable[[], None]) -> None:
        """Start the writing thread; call `on_closed` on the loop when the reader is gone."""
        self._printer = printer
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._written = asyncio.Event()
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._finished = False
        # A daemon thread: a stuck reader must not keep the process alive.
        threading.Thread(target=self._write, name="ralph-output", daemon=True).start()

    def sink(self, event: Event) -> None:
        """Queue an event; skip live text, which is for screens, and anything after the last event."""
        if event.transient or self._finished:
            return
        self._finished = isinstance(event, LoopFinished)
        self._events.put(event)

    async def finish(self) -> None:
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
                self._call_on_loop(self._on_closed)
        self._call_on_loop(self._written.set)

    def _call_on_loop(self, callback: Callable[[], object]) -> None:
        # When the event loop is closed already, nobody waits for this call.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback)
