"""Read a document: its content, its last valid version while it is being written, or its restored version."""

import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ralph_tui.domain.base import Record
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.documents import document_recovery
from ralph_tui.store.documents.documents import (
    PLAN,
    Document,
    InvalidDocumentError,
    R,
    decode_document,
)
from ralph_tui.store.documents.migrations import NewerError
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.layout import Layout


def _readable_part(kind: Document[R], data: bytes, error: NewerError) -> tuple[R, str]:
    """Return the part of a newer ralph's document that this one understands, and a sentence for the person."""
    raw = parse_object(data)
    if kind.model is ImplementationPlan and not isinstance(raw.get("tasks"), list):
        raise error  # without tasks it would look like an empty plan
    try:
        value = kind.model.model_validate(raw)
    except ValidationError:
        raise error from None
    return value, f"{error.message} Ralph shows only what this version understands. {error.hint}"


class Read(NamedTuple):
    """A document as it was read: its bytes (None when missing), its model, and its version before migration."""

    data: bytes | None
    value: Record
    migrated_from: int | None = None
    newer: NewerError | None = None
    """Set when a newer ralph wrote the document, which is then read-only."""
    unfinished: bool = False
    """Whether another program is writing the file. The model is then the last valid version, read-only."""


class NeedsRepairError(Exception):
    """A document is damaged or a transaction is half done. The repair needs the write lock."""


class Reader:
    """Reads the documents of one project, and caches the last version of each."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], report: Callable[[str], None]
    ) -> None:
        """Read the documents of `layout`. `report` receives a sentence for each repair."""
        self._layout = layout
        self._clock = clock
        self._report = report
        self._decoded: dict[str, tuple[bytes, Read]] = {}

    def remember(self, kind: Document[R], data: bytes, value: Record) -> None:
        """Cache a document that was written, so that it is not decoded again."""
        self._decoded[kind.name] = (data, Read(data, value))

    def read(self, kind: Document[R]) -> Read:
        """Return a document without repairing it.

        Raises:
            NeedsRepairError: The document is damaged, or a formerly valid one is now invalid or missing.
            InvalidDocumentError: The document is invalid, and no valid version was read before.
        """
        path = self._path(kind)
        try:
            data = read_regular(path)
            if data is not None or kind.name not in self._decoded:
                return self._decode(kind, data, path)
        except DamagedError as error:
            raise NeedsRepairError from error
        except InvalidDocumentError as error:
            if kind.name in self._decoded:
                raise NeedsRepairError from error
            raise
        raise NeedsRepairError

    def read_or_repair(self, kind: Document[R], quiet: float) -> Read:
        """Return a document, its version before an unfinished write, or its restored version. Hold the write lock.

        Args:
            quiet: Seconds for which an incomplete file is not reported. Infinity never repairs a file,
                however old it is.
        """
        path, data = self._path(kind), None
        try:
            return self.read(kind)
        except NeedsRepairError:
            pass
        try:
            data = self._settled(kind)
            return self._decode(kind, data, path)
        except DamagedError as error:
            is_first = kind.name == PLAN.name and kind.name not in self._decoded
            if is_first and quiet != math.inf and document_recovery.is_typed(path, data):
                raise _unreadable(path, error) from error
            return self._substitute(kind, path, _unreadable(path, error), str(error), quiet)
        except InvalidDocumentError as error:
            # Only a process that has read the valid version may continue with it.
            if quiet == math.inf or kind.name not in self._decoded:
                raise
            return self._substitute(kind, path, error, error.message, quiet)

    def _substitute(
        self,
        kind: Document[R],
        path: Path,
        problem: InvalidDocumentError,
        reason: str,
        quiet: float,
    ) -> Read:
        good = self._last_good(kind)
        if quiet == math.inf or document_recovery.is_being_written(path):
            if good is not None:
                if document_recovery.seconds_unchanged(path) >= quiet:
                    self._report(
                        f"{path.name} cannot be used ({reason}). Ralph uses the last valid version and sets the file "
                        f"aside {document_recovery.EDITOR_SECONDS:g} seconds after its last change."
                    )
                return Read(b"", good, unfinished=True)
            if kind.name == PLAN.name or quiet == math.inf:
                raise problem
        repaired = document_recovery.repair(
            kind, path, good, layout=self._layout, reason=reason, now=self._clock()
        )
        if repaired is None:
            raise problem
        value, data, message = repaired
        self._report(message)
        return Read(data, value)

    def _settled(self, kind: Document[R]) -> bytes | None:
        """Return a file's bytes once they stop changing, or None when it was removed permanently."""
        path, name = self._path(kind), kind.name
        data = document_recovery.wait_until_settled(path)
        if data is None and name in self._decoded:
            data = document_recovery.wait_for_file(path)
        if data is None:
            self._decoded.pop(name, None)
        return data

    def _last_good(self, kind: Document[R]) -> R | None:
        cached = self._decoded.get(kind.name)
        if cached is not None and isinstance(cached[1].value, kind.model):
            return cached[1].value
        return document_recovery.good_copy(kind, self._path(kind))

    def _decode(self, kind: Document[R], data: bytes | None, path: Path) -> Read:
        if data is None:
            return Read(None, kind.model())
        cached = self._decoded.get(kind.name)
        if cached is not None and cached[0] == data:
            return cached[1]
        try:
            decoded = decode_document(kind, data, path)
            read = Read(data, decoded.value, decoded.migrated_from)
        except NewerError as error:
            value, message = _readable_part(kind, data, error)
            self._report(message)
            read = Read(data, value, newer=error)
        self._decoded[kind.name] = (data, read)
        return read

    def _path(self, kind: Document[R]) -> Path:
        path: Path = getattr(self._layout, kind.name)
        return path


def _unreadable(path: Path, error: DamagedError) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"{path} cannot be read: {error}.",
        "Correct the file, or wait until your editor has saved it completely. The file was not changed.",
    )
