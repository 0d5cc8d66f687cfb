"""Writes to the terminal in a thread that never blocks the app and never fails, and keeps stray output off the screen.

Textual's own writer holds up the event loop, and with it the loop, once a terminal takes nothing more
(a stalled connection, ctrl+s), and forever once it is gone. Whatever else writes to file descriptor 2 would
draw over the screen; it goes to a file and is printed after the screen has closed.

Upstream: none filed.
Gain: the loop keeps working behind a stalled terminal (`tests/pty/test_stalled.py`); without it, it stops.
"""

import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph_tui.domain.sanitize import tail

MOST = 2 * 1024 * 1024
"""Bytes that may wait for the terminal; some twenty pictures of a large one."""

PATIENCE_SECONDS = 0.5
"""Longest wait for the terminal to accept the rest before another program draws on it, or ralph exits."""


class TerminalWriter(io.TextIOBase):
    """A terminal's descriptor as a file, written by a thread; drops what a stalled terminal does not accept."""

    encoding = "utf-8"

    def __init__(
        self, descriptor: int, *, redraw: Callable[[], None], hang_up: Callable[[], None]
    ) -> None:
        """Write to `descriptor`, and own it from now on.

        Args:
            descriptor: Of a terminal.
            redraw: Called when it takes again, after something was dropped. In the thread, as the next.
            hang_up: Called when it is gone.
        """
        self._descriptor = descriptor
        self._redraw = redraw
        self._hang_up = hang_up
        self._waiting: list[bytes] = []
        self._size = 0
        self._news = threading.Condition()
        self._ending = False
        self._busy = False
        self._stalled = False
        self._dropped = False
        self._gone = False
        threading.Thread(target=self._run, name="terminal", daemon=True).start()

    def fileno(self) -> int:
        """Return the terminal's descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._descriptor)

    def write(self, text: str) -> int:
        """Queue a text; it is written whole or not at all, so that no escape sequence is cut."""
        with self._news:
            if not self._gone:
                data = text.encode("utf-8", "replace")
                self._waiting.append(data)
                self._size += len(data)
                if self._busy and self._size > MOST:
                    self._waiting.clear()
                    self._size = 0
                    self._dropped = True
                self._news.notify_all()
        return len(text)

    def flush(self) -> None:
        """Wait until the terminal has accepted everything, unless it is known to be stalled."""
        with self._news:
            if not self._stalled:
                self._stalled = not self._news.wait_for(self._is_idle, PATIENCE_SECONDS)

    def _is_idle(self) -> bool:
        return self._gone or not (self._waiting or self._busy)

    def end(self) -> None:
        """Write what the terminal still accepts, and close it."""
        self.flush()
        with self._news:
            self._ending = True
            self._news.notify_all()

    def _run(self) -> None:
        while (data := self._next()) is not None:
            taken = self._put(data)
            with self._news:
                self._busy, self._gone = False, not taken
                again = self._dropped and taken and not self._waiting
                self._dropped = self._dropped and not again
                self._stalled = self._stalled and bool(self._waiting)
                self._news.notify_all()
            if again:
                self._redraw()
            if not taken:
                self._hang_up()
        os.close(self._descriptor)

    def _next(self) -> bytes | None:
        """Return what to write now; None when nothing will come any more."""
        with self._news:
            self._news.wait_for(lambda: self._waiting or self._ending or self._gone)
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._size = 0
            self._busy = bool(data)
            return data or None

    def _put(self, data: bytes) -> bool:
        """Write; return whether the terminal was there."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError:
                return False
        return True


KEPT = 4_000
"""Characters of stray output that are printed after the screen has closed."""


def _nothing() -> None:
    """Do nothing."""


@contextmanager
def quiet_stderr(
    *, redraw: Callable[[], None] = _nothing, hang_up: Callable[[], None] = _nothing
) -> Iterator[None]:
    """Have Textual draw through a copy of the terminal; stray output goes to a file and is printed afterwards.

    `redraw` and `hang_up` are called as `TerminalWriter` has them.
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
            _say(strays.fileno())


def _say(descriptor: int) -> None:
    size = os.fstat(descriptor).st_size
    os.lseek(descriptor, max(0, size - KEPT * 4), os.SEEK_SET)
    text = tail(os.read(descriptor, KEPT * 4).decode("utf-8", "replace"), KEPT).strip()
    if text:
        sys.stderr.write(f"While the screen was open, something wrote to stderr:\n{text}\n")
