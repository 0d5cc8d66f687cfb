"""Rotate logs: a full one becomes `NAME.1`, and a new one is started. What ralph itself reads is kept whole."""

import os
from pathlib import Path

from ralph_tui.store.io.files import (
    explained,
    open_regular,
    sync_directory,
    write_all,
)

MOST_BYTES = 4 * 1024 * 1024
"""The size of a full log: about forty thousand lines."""


def older(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def make_room(path: Path) -> bool:
    """Rotate the file if it is full; return whether it was.

    Only the file's single writer may call this.
    """
    with explained("set aside", path):
        try:
            if path.lstat().st_size < MOST_BYTES:
                return False
        except FileNotFoundError:
            return False
        path.replace(older(path))
        sync_directory(path.parent)
        return True


def append_log(path: Path, text: str) -> None:
    """Append whole lines to a log, without syncing them to the disk."""
    make_room(path)
    with explained("append to", path):
        descriptor = open_log(path)
        try:
            write_all(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def open_log(path: Path) -> int:
    return open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def keep_newest(directory: Path, pattern: str, count: int) -> None:
    with explained("clean up", directory):
        files = [(path.lstat().st_mtime_ns, path) for path in directory.glob(pattern)]
        for _, path in sorted(files)[:-count]:
            path.unlink(missing_ok=True)
