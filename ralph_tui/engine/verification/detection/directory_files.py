"""Read-only access to a project's files for detection."""

import os
import stat
from pathlib import Path

READ_BYTES = 1_000_000
"""The most bytes read of one file; a manifest is far smaller."""

LISTED_NAMES = 2_000


def read_start(path: Path | str) -> str:
    """Return the beginning of a regular file, or an empty text if it cannot be read."""
    try:
        # Without O_NONBLOCK, opening a named pipe waits for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.pread(descriptor, READ_BYTES, 0).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


class DirectoryFiles:
    """The files of a directory on disk, read again each time; paths are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def read(self, path: str) -> str:
        return read_start(f"{self._root}/{path}")

    def names(self, directory: str = ".") -> tuple[str, ...]:
        """Return the sorted names in a directory, or none without such a directory."""
        try:
            with os.scandir(f"{self._root}/{directory}") as entries:
                found = [entry.name for entry, _ in zip(entries, range(LISTED_NAMES), strict=False)]
        except (OSError, ValueError):
            return ()
        return tuple(sorted(found))

    def below(self, directory: str) -> "DirectoryFiles":
        return DirectoryFiles(Path(self._root, directory))
