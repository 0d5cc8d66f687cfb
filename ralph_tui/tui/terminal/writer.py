"""Writes to the terminal in a thread, so that a stalled terminal never blocks the app, and captures stray output.

Textual's own writer blocks the event loop, and so the loop, while a terminal accepts nothing (a stalled connection,
ctrl+s), and forever once it has closed. Anything else written to file descriptor 2 would draw over the screen;
it goes to a file and is printed after the screen has closed.

Upstream: none filed.
Gain: the loop keeps working behind a stalled terminal (`tests/pty/test_stalled.py`).
"""

import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph_tui.domain.sanitize import tail

MAX_QUEUED_BYTES = 2 * 1024 * 1024
"""Maximum number of bytes that wait for the terminal: about twenty frames of a large one."""

PATIENCE_SECONDS = 0.5
"""Longest wait for the terminal to accept the rest before another program draws on it, or ralph exits."""


class TerminalWriter(io.TextIOBase):
    """A terminal's descriptor as a file, written by a thread; drops what a stalled terminal does not accept."""

    encoding = "utf-8"

    def __init__(
        self, descriptor: int, *, redraw: Callable[[], object], hang_up: Callable[[], object]
    ) -> None:
        """Write to `descriptor`, and own it from now on.

        Args:
            redraw: Called in the writer's thread when the terminal accepts output again after some was dropped.
            hang_up: Called in the writer's thread when the terminal has closed.
        """
        self._descriptor = descriptor
        self._redraw = redraw
        self._hang_up = hang_up
        self._waiting: list[bytes] = []
        self._size = 0
        self._changed = threading.Condition()
        self._ending = False
        self._busy = False
        self._stalled = False
        self._dropped = False
        self._gone = False
        threading.Thread(target=self._run, name="terminal", daemon=True).start()

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def write(self, text: str) -> int:
        """Queue a text, which is written whole or not at all, so that no escape sequence is cut."""
        with self._changed:
            if not self._gone:
                data = text.encode("utf-8", "replace")
                self._waiting.append(data)
                self._size += len(data)
                if self._busy and self._size > MAX_QUEUED_BYTES:
                    self._waiting.clear()
                    self._size = 0
                    self._dropped = True
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Wait until the terminal has accepted everything, unless it is known to be stalled."""
        with self._changed:
            if not self._stalled:
                self._stalled = not self._changed.wait_for(self._is_idle, PATIENCE_SECONDS)

    def _is_idle(self) -> bool:
        return self._gone or not (self._waiting or self._busy)

    def end(self) -> None:
        """Write what the terminal still accepts, and close the descriptor."""
        self.flush()
        with self._changed:
            self._ending = True
            self._changed.notify_all()

    def _run(self) -> None:
        while (data := self._next()) is not None:
            taken = self._write_all(data)
            with self._changed:
                self._busy, self._gone = False, not taken
                again = self._dropped and taken and not self._waiting
                self._dropped = self._dropped and not again
                self._stalled = self._stalled and bool(self._waiting)
                self._changed.notify_all()
            if again:
                self._redraw()
            if not taken:
                self._hang_up()
        os.close(self._descriptor)

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ending or self._gone)
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            self._busy = bool(data)
            return data or None

    def _write_all(self, data: bytes) -> bool:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError:
                return False
        return True


MAX_STRAY_CHARS = 4_000
"""Characters of stray output that are printed after the screen has closed."""


def _nothing() -> None:
    """Do nothing."""


@contextmanager
def quiet_stderr(
    *, redraw: Callable[[], object] = _nothing, hang_up: Callable[[], object] = _nothing
) -> Iterator[None]:
    """Make Textual draw through a copy of the terminal; print stray output after the body.

    `redraw` and `hang_up` are passed to `TerminalWriter`.
    """
    terminal = os.dup(2)
    before = sys.__stderr__
    screen = TerminalWriter(os.dup(terminal), redraw=redraw, hang_up=hang_up)
    with tempfile.TemporaryFile() as strays:
        sys.__stderr__ = screen  # type: ignore[misc, assignment]  # the one name Textual draws through
        os.dup2(strays.fileno(), 2)
        try:
            yield
        finally:
            screen.end()
            os.dup2(terminal, 2)
            os.close(terminal)
            sys.__stderr__ = before  # type: ignore[misc]  # as above
            _print_stray_output(strays.fileno())


def _print_stray_output(descriptor: int) -> None:
    start = max(0, os.fstat(descriptor).st_size - MAX_STRAY_CHARS * 4)
    os.lseek(descriptor, start, os.SEEK_SET)
    read = os.read(descriptor, MAX_STRAY_CHARS * 4).decode("utf-8", "replace")
    text = tail(read, MAX_STRAY_CHARS, is_cut=start > 0).strip()
    if text:
        sys.stderr.write(f"While the screen was open, something wrote to stderr:\n{text}\n")
