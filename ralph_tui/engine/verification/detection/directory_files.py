"""Read-only access to a project's files for detection."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

READ_BYTES = 1_000_000
"""The most bytes read of one file; a manifest is far smaller."""

LISTED_NAMES = 2_000
_MOST_INNER = 400
_DEEPEST = 3
_NEVER_PROJECTS = frozenset({
    "node_modules", "venv", "env", "vendor", "target", "dist", "build", "docs", "examples", "example",
    "tests", "test", "fixtures", "templates",
})  # fmt: skip


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


def entries_of(directory: Path | str, most: int | None = None) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            return [*islice(entries, most)]
    except (OSError, ValueError):
        return []


class DirectoryFiles:
    """The files of a directory on disk, read again each time; paths are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def read(self, path: str) -> str:
        return read_start(f"{self._root}/{path}")

    def names(self, directory: str = ".") -> tuple[str, ...]:
        """Return the sorted names in a directory, or none without such a directory."""
        found = entries_of(f"{self._root}/{directory}", LISTED_NAMES)
        return tuple(sorted(entry.name for entry in found))

    def inner(self) -> Iterator[str]:
        """Yield the directories that can be projects of their own, those nearer to the root first."""
        places = ["."]
        for place in places:
            entries = entries_of(f"{self._root}/{place}", LISTED_NAMES)
            for entry in sorted(entries, key=lambda one: one.name):
                named = entry.name not in _NEVER_PROJECTS and not entry.name.startswith(".")
                if named and entry.is_dir(follow_symlinks=False) and len(places) < _MOST_INNER:
                    path = entry.name if place == "." else f"{place}/{entry.name}"
                    yield path
                    places += [path] * (path.count("/") < _DEEPEST - 1)

    def below(self, directory: str) -> "DirectoryFiles":
        return DirectoryFiles(Path(self._root, directory))
