"""Keeps file descriptor 2 off the screen while the app draws on it."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from ralph_tui.domain.text import tail

KEPT = 4_000
"""Characters of stray output said after the screen has closed."""


@contextmanager
def quiet_stderr() -> Iterator[None]:
    """Textual draws through a copy of the terminal; strays go to a file and are said afterwards."""
    terminal = os.dup(2)
    before = sys.__stderr__
    with (
        tempfile.TemporaryFile() as strays,
        os.fdopen(os.dup(terminal), "w", encoding="utf-8", errors="replace") as screen,
    ):
        sys.__stderr__ = screen  # type: ignore[misc]  # the one name Textual draws through
        os.dup2(strays.fileno(), 2)
        try:
            yield
        finally:
            screen.flush()
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
