"""Read a document: its content, or its last valid version while the file is invalid.

Reading changes no file. The last valid version is the one that this process has read, else the copy outside the
project.
"""

import math
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.documents.documents import (
    PLAN,
    Document,
    InvalidDocumentError,
    R,
    decode_document,
)
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.layout import Layout

SETTLE_SECONDS = 0.05
SETTLE_TRIES = 10
SETTLED_SECONDS = 1.0
"""A file that has not been written for so long is not being saved at this moment."""


NEEDED = frozenset({"plan", "state", "project"})
"""Documents that never start with default values: an empty plan looks finished, and spent money would be forgotten."""


class Read(NamedTuple):
    """A document as it was read: its bytes (None when missing or not a regular file) and its model."""

    data: bytes | None
    value: Record
    problem: str = ""
    """Why the file is invalid. The model is then the last valid version."""


class Reader:
    """Reads the documents of one project, and caches the last valid version of each."""

    def __init__(self, layout: Layout, report: Callable[[str], None]) -> None:
        """Read the documents of `layout`. `report` receives a sentence for each that is invalid."""
        self._layout = layout
        self._report = report
        self._decoded: dict[str, tuple[bytes, Read]] = {}

    def remember(self, kind: Document[R], data: bytes, value: Record) -> None:
        self._decoded[kind.name] = (data, Read(data, value))

    def read(self, kind: Document[R], *, is_look: bool) -> Read:
        """Return a document, or its last valid version.

        Args:
            is_look: Whether an invalid file is not reported, and the last plan is shown beside a new one with a
                typing error.

        Raises:
            InvalidDocumentError: The document is invalid, and no valid version of it is known.
        """
        path, data = self._layout.document(kind.name), None
        try:
            data = read_regular(path)
            if data is not None or kind.name not in self._decoded:
                return self._decode(kind, data, path)
        except (DamagedError, InvalidDocumentError):
            pass  # somebody may be saving it
        problem: InvalidDocumentError
        good: Record | None
        instead = "the last valid version"
        try:
            data = _settled(path, is_expected=kind.name in self._decoded)
            if data is None:
                self._decoded.pop(kind.name, None)
            return self._decode(kind, data, path)
        except DamagedError as error:
            problem, reason = _unreadable(kind, path, error), str(error)
            good = self._last_valid(kind) or self._copy(kind, data, is_look=is_look)
            if good is None and kind.name not in NEEDED:
                good, instead = kind.model(), "default values"
        except InvalidDocumentError as error:
            problem, reason = error, error.message
            good = None if is_look else self._last_valid(kind)
        if good is None:
            raise problem
        if not is_look:
            self._report(
                f"{path.name} cannot be used ({reason}). Ralph uses {instead} until it is correct."
            )
        return Read(data, good, problem=reason)

    def _last_valid(self, kind: Document[R]) -> Record | None:
        cached = self._decoded.get(kind.name)
        return None if cached is None else cached[1].value

    def _copy(self, kind: Document[R], data: bytes | None, *, is_look: bool) -> Record | None:
        """Return the copy outside the project, if it is valid.

        Text that somebody typed, and that is not what a crash left of the plan, is a new plan: the last one must not
        be built instead.
        """
        path = self._layout.document(kind.name)
        try:
            copy = read_regular(copy_of(self._layout, path))
            if copy is None or (kind.name == PLAN.name and not is_look and _is_typed(data, copy)):
                return None
            return decode_document(kind, copy, path)
        except (DamagedError, StoreError):
            return None

    def _decode(self, kind: Document[R], data: bytes | None, path: Path) -> Read:
        if data is None:
            return Read(None, kind.model())
        cached = self._decoded.get(kind.name)
        if cached is not None and cached[0] == data:
            return cached[1]
        read = Read(data, decode_document(kind, data, path))
        self._decoded[kind.name] = (data, read)
        return read


def _seconds_unchanged(path: Path) -> float:
    """Return the seconds since a file was written, or infinity when it is not a regular file."""
    try:
        info = path.lstat()
    except OSError:
        return math.inf
    # A time in the future comes from another clock, so the distance counts.
    return abs(time.time() - info.st_mtime) if stat.S_ISREG(info.st_mode) else math.inf


def _settled(path: Path, *, is_expected: bool) -> bytes | None:
    """Return a file's bytes once they stop changing, because many programs save in place or rename before they write.

    Args:
        is_expected: Whether to wait for a missing file.
    """
    data = read_regular(path)
    for _ in range(SETTLE_TRIES):
        if data is not None and _seconds_unchanged(path) > SETTLED_SECONDS:
            break
        time.sleep(SETTLE_SECONDS)
        before, data = data, read_regular(path)
        if data == before and not (data is None and is_expected):
            break
    return data


def _is_typed(data: bytes | None, copy: bytes) -> bool:
    try:
        text = (data or b"").decode()
    except UnicodeDecodeError:
        return False
    is_cut_short = copy.startswith((data or b"").rstrip())
    return bool(text.strip()) and "\0" not in text and not is_cut_short


def _unreadable(kind: Document[R], path: Path, error: DamagedError) -> InvalidDocumentError:
    if kind.name == PLAN.name:
        hint = "Correct the file, or wait until your editor has saved it completely."
    else:
        hint = "Correct the file, or delete it to start with default values."
    return InvalidDocumentError(f"{path} cannot be read: {error}.", f"{hint} It was not changed.")
