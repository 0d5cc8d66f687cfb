"""Keeps file descriptor 2 off the screen while the app draws on it."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ralph_tui.domain.sanitize import tail
from ralph_tui.tui.terminal import Terminal

KEPT = 4_000
"""Characters of stray output said after the screen has closed."""


def _nothing() -> None:
    """For a screen that does not care."""


@contextmanager
def quiet_stderr(
    *, redraw: Callable[[], None] = _nothing, hang_up: Callable[[], None] = _nothing
) -> Iterator[None]:
    """Textual draws through a copy of the terminal; strays go to a file and are said afterwards.

    `redraw` and `hang_up` are called as `Terminal` has them.
    """
    terminal = os.dup(2)
    before = sys.__stderr__
    screen = Terminal(os.dup(terminal), redraw=redraw, hang_up=hang_up)
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
