"""Line mode: runs the loop without the screen, for CI, pipes and screen readers. A thread prints, so that a slow pipe delays no run."""

import asyncio
import contextlib
import gc
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Protocol, TextIO

from ralph_tui.cli.console import discard_stdout, note
from ralph_tui.cli.run.background import limit_log
from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.events import Event, LoopFinished
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.engine.control.controls import ENDED_BY
from ralph_tui.engine.control.launch import Launch
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
    """Return a printer of readable lines, colored on a terminal unless NO_COLOR is set."""
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


def run_lines(
    make: Callable[[], Launch], *, as_json: bool, interactive: bool = False, verbose: bool = False
) -> int:
    """Make a launch, run its loop, print its events and return the exit status.

    However the run ends, the last line of JSON is a `loop_finished`.
    """
    try:
        return asyncio.run(_run(make(), as_json=as_json, interactive=interactive, verbose=verbose))
    except RalphError as error:
        _print_end(as_json, LoopStatus.ERROR, str(error), error.exit_code)
        raise
    except (KeyboardInterrupt, asyncio.CancelledError):
        _print_end(as_json, LoopStatus.INTERRUPTED, "cut off by the person", ExitCode.INTERRUPTED)
        raise KeyboardInterrupt from None
    except Exception as error:
        why = f"something went wrong that ralph did not expect ({type(error).__name__})"
        _print_end(as_json, LoopStatus.ERROR, why, ExitCode.ERROR)
        raise


def _print_end(as_json: bool, status: LoopStatus, reason: str, code: ExitCode) -> None:  # noqa: FBT001  (private, and beside its only callers)
    if as_json:
        end = LoopFinished(status=status, reason=reason, exit_code=int(code))
        with contextlib.suppress(OSError):  # the reader is gone
            json_printer(sys.stdout)(end)


UNREAD_SECONDS = 5.0
"""How long a stopping run waits for a stalled reader of its output."""


class _Stopper:
    """Turns signals and a closed pipe into requests to stop, each more urgent than the last."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._asked = 0
        self._notes: list[threading.Thread] = []
        self._requests: set[asyncio.Task[None]] = set()
        self._main = asyncio.current_task()

    def interrupt(self) -> None:
        """Handle a Ctrl+C: stop after this iteration; the second time at once; the third time cancel the run."""
        self._asked += 1
        if self._asked == 1:
            self._ask("stopping after this iteration; Ctrl+C again stops at once.", now=False)
        elif self._asked == 2:
            self._ask("stopping now.", now=True)
        elif self._main is not None:
            self._main.cancel()

    def stop_now(self, why: str) -> None:
        self._asked = max(self._asked, 2)
        self._ask(f"{why}, so the loop stops now.", now=True, why=why)

    def _ask(self, message: str, *, now: bool, why: str = "") -> None:
        request = asyncio.ensure_future(self._request(now=now, why=why))
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        # In a thread that nobody waits for: a reader that is stalled must not delay the stop.
        self._notes.append(threading.Thread(target=note, args=(message,), daemon=True))
        self._notes[-1].start()

    async def finish(self, output: Output) -> bool:
        """Return whether everything was printed; after a stop, a stalled reader is not waited for."""
        try:
            await asyncio.wait_for(output.finish(), UNREAD_SECONDS if self._asked > 1 else None)
        except TimeoutError:
            return False
        for thread in self._notes:
            thread.join(UNREAD_SECONDS)
        return not any(thread.is_alive() for thread in self._notes)

    async def _request(self, *, now: bool, why: str) -> None:
        try:
            await asyncio.to_thread(self._launch.controls.stop, now=now, why=why)
        except RalphError as error:
            # The request could not be written, as on a full disk: cancel the run instead.
            note(f"{error} The run is cut off.")
            if self._main is not None:
                self._main.cancel()


@contextlib.contextmanager
def _signals(stopper: _Stopper) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stopper.interrupt)
    for number, why in ENDED_BY.items():
        loop.add_signal_handler(number, stopper.stop_now, why)
    try:
        yield
    finally:
        for number in (signal.SIGINT, *ENDED_BY):
            loop.remove_signal_handler(number)


async def _run(launch: Launch, *, as_json: bool, interactive: bool, verbose: bool) -> int:
    stopper = _Stopper(launch)
    plain = json_printer(sys.stdout) if as_json else line_printer(sys.stdout, verbose=verbose)
    printer = limit_log(plain, launch.root)
    with contextlib.ExitStack() as stack:
        if interactive:
            from ralph_tui.cli.run.prompt import TerminalPrompts

            terminal = TerminalPrompts(launch.controls)
            stack.callback(terminal.close)
            printer = terminal.around(printer)
        output = Output(printer, lambda: stopper.stop_now("standard output was closed"))
        stack.enter_context(_signals(stopper))
        finished = await launch.run(output.sink)
        output.sink(finished)  # ignored when the engine sent it already
        if not await stopper.finish(output):
            os._exit(
                finished.exit_code
            )  # the interpreter would wait for the reader; all else is done
    # Collect pipes of killed processes before the event loop closes; afterwards they would print a traceback.
    gc.collect()
    return finished.exit_code
