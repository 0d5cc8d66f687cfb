"""Rotate files that grow line by line: a full file becomes `NAME.1`, and a new file is started.

The rename is atomic. A crash loses nothing, and a reader with the open file keeps reading the old content. The
journal is not rotated: its readers store offsets, and its content exists nowhere else, so it is kept whole until
`ralph reset`.
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
"""The size of a full file: about ten thousand sessions, or forty thousand lines of a log."""


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


def read_grown(path: Path) -> bytes:
    """Return the content of the older and the current file, consistent even while the writer rotates them."""
    while True:
        before = _identity(path)
        first, second = read_regular(older(path)) or b"", read_regular(path) or b""
        if _identity(path) == before:  # otherwise the two may overlap or lack lines in between
            between = b"" if first.endswith(b"\n") or not first else b"\n"
            return first + between + second


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.stat()
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def keep_newest(directory: Path, pattern: str, count: int) -> None:
    with explained("clean up", directory):
        files = [(path.lstat().st_mtime_ns, path) for path in directory.glob(pattern)]
        for _, path in sorted(files)[:-count]:
            path.unlink(missing_ok=True)
