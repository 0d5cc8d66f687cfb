"""Read-only access to a project's files for detection."""

import os
import stat
from pathlib import Path
from typing import Protocol

READ_BYTES = 1_000_000
"""The most bytes read of one file; a manifest is far smaller."""

LISTED_NAMES = 2_000
"""The most names read of one directory."""


class ProjectFiles(Protocol):
    """The files for detection; paths are relative to the project, with `/`."""

    def read(self, path: str) -> str | None:
        """Return the text of a regular file, truncated when huge, or None."""

    def names(self, directory: str = ".") -> tuple[str, ...]:
        """Return the sorted names in a directory, or none without such a directory."""


class DirectoryFiles:
    """The files of a directory on disk, read again each time."""

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


class CachedFiles:
    """The files of a project, with a cache of everything that was read."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._texts: dict[str, str | None] = {}
        self._listed: dict[str, tuple[str, ...]] = {}

    def read(self, path: str) -> str | None:
        if path not in self._texts:
            self._texts[path] = self._files.read(path)
        return self._texts[path]

    def names(self, directory: str = ".") -> tuple[str, ...]:
        if directory not in self._listed:
            self._listed[directory] = self._files.names(directory)
        return self._listed[directory]

    def is_current(self) -> bool:
        """Return whether the cache matches the disk. Reads every file again, because file times are unreliable."""
        return all(
            self._files.names(directory) == names for directory, names in self._listed.items()
        ) and all(self._files.read(path) == text for path, text in self._texts.items())
