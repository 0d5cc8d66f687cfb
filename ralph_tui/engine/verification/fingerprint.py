"""Compute a fingerprint of the project's contents, independent of times and owners."""

import hashlib
import os
import stat
from pathlib import Path

from ralph_tui.engine.core.project_tree import files_of

MOST_FILES = 20_000
MOST_BYTES = 64 * 1024 * 1024
"""Bytes. A larger project gets no fingerprint, because reading it would take too long."""

LARGE = 1024 * 1024
"""Bytes. A larger file is identified by its size and time, so every write counts as a change."""

_Signature = tuple[int, int, int]


class Fingerprinter:
    """Digests a project's files; reads a file again only after it has changed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[_Signature, bytes]] = {}
        self._too_large = False

    def digest(self) -> str:
        """Return a digest of all contents, or an empty string if the project is too large. Blocks."""
        if self._too_large:
            return ""
        total, size = hashlib.sha256(), 0
        known: dict[str, tuple[_Signature, bytes]] = {}
        for number, entry in enumerate(files_of(self._root)):
            try:
                info = entry.stat(follow_symlinks=False)
                found = self._file_digest(entry, info)
            except OSError:
                continue  # deleted meanwhile, or unreadable
            size += min(info.st_size, LARGE)
            if number >= MOST_FILES or size > MOST_BYTES:
                self._too_large = True
                return ""
            known[entry.path] = (_signature(info), found)
            name = os.path.relpath(entry.path, self._root)
            total.update(f"{name}\0{info.st_mode:o}\0".encode(errors="surrogateescape"))
            total.update(found)
        self._known = known
        return total.hexdigest()[:16]

    def _file_digest(self, entry: "os.DirEntry[str]", info: os.stat_result) -> bytes:
        before = self._known.get(entry.path)
        if before is not None and before[0] == _signature(info):
            return before[1]
        if stat.S_ISLNK(info.st_mode):
            return hashlib.sha256(os.fsencode(Path(entry.path).readlink())).digest()
        if not stat.S_ISREG(info.st_mode) or info.st_size > LARGE:
            return repr(_signature(info)).encode()
        return hashlib.sha256(Path(entry.path).read_bytes()).digest()


def _signature(info: os.stat_result) -> _Signature:
    return info.st_mtime_ns, info.st_size, info.st_ino
