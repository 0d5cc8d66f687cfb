"""Read-only access to a project's files for detection."""

import os
import stat
from pathlib import Path

READ_BYTES = 1_000_000
"""The most bytes read of one file; a manifest is far smaller."""

LISTED_NAMES = 2_000
"""The most names read of one directory."""


class DirectoryFiles:
    """The files of a directory on disk, read again each time; paths are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def read(self, path: str) -> str | None:
        """Return the text of a regular file, truncated when huge, or None."""
        try:
            # Without O_NONBLOCK, opening a named pipe waits for a writer.
            descriptor = os.open(f"{self._root}/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            return os.pread(descriptor, READ_BYTES, 0).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(descriptor)

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
