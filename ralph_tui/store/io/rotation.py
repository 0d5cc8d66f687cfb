"""Rotate files that grow line by line: a full file replaces `NAME.1`, and a new one begins.

The rename is one step: a crash loses nothing, and a reader with the file open keeps reading the old
content. The journal is not rotated. Its readers remember offsets, and it holds what no other file does, so
it stays whole until `ralph reset`.
"""

import os
from pathlib import Path

from ralph_tui.store.io.files import (
    explained,
    open_regular,
    read_regular,
    sync_directory,
    write_all,
)

MOST_BYTES = 4 * 1024 * 1024
"""Some ten thousand sessions, or forty thousand lines of a log."""


def older(path: Path) -> Path:
    """Return the path of the previous full file."""
    return path.with_name(f"{path.name}.1")


def make_room(path: Path) -> bool:
    """Set a full file aside so that the next line begins a new one; return whether it did.

    Only the file's one writer may call this.

    Raises:
        StoreError: It cannot be renamed; it is as it was.
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
    """Add whole lines to a log; they need not survive a power cut.

    Raises:
        StoreError: They could not be written.
    """
    make_room(path)
    with explained("append to", path):
        descriptor = open_log(path)
        try:
            write_all(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)


def open_log(path: Path) -> int:
    """Return a descriptor that appends to a log, which only its owner may read."""
    return open_regular(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def read_grown(path: Path) -> bytes:
    """Return both files as one, the older first; lines stay whole even while the writer rotates.

    Raises:
        DamagedError: One of them is no file.
        StoreError: One of them may not be read.
    """
    while True:
        before = _identity(path)
        first, second = read_regular(older(path)) or b"", read_regular(path) or b""
        if _identity(path) == before:  # otherwise the two may overlap, or miss lines in between
            between = b"" if first.endswith(b"\n") or not first else b"\n"
            return first + between + second


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.stat()
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def keep_newest(directory: Path, pattern: str, count: int) -> None:
    """Remove all but the newest files of a kind.

    Raises:
        StoreError: One cannot be removed.
    """
    with explained("clean up", directory):
        files = [(path.lstat().st_mtime_ns, path) for path in directory.glob(pattern)]
        for _, path in sorted(files)[:-count]:
            path.unlink(missing_ok=True)
