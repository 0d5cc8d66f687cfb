"""Read one document: as it is, as it was while somebody writes it, or restored."""

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


def newer_view(kind: Document[R], data: bytes, error: NewerError) -> tuple[R, str]:
    """Return the part of a newer ralph's document that this one understands, and what to tell the person.

    Raises:
        NewerError: Nothing is, or it might be shown as something else than it is.
    """
    raw = parse_object(data)
    if kind.model is ImplementationPlan and not isinstance(raw.get("tasks"), list):
        raise error  # without tasks it would look like an empty plan
    try:
        value = kind.model.model_validate(raw)
    except ValidationError:
        raise error from None
    return value, f"{error.message} It is shown as far as this one understands it. {error.hint}"


class Read(NamedTuple):
    """A document as it was read: its bytes (None when missing), its model, its older version."""

    data: bytes | None
    value: Record
    migrated_from: int | None = None
    newer: NewerError | None = None
    """Set when a newer ralph wrote the document, which is then read-only."""
    unfinished: bool = False
    """Somebody is writing the file: the model is the last valid version, read-only."""


class NeedsRepairError(Exception):
    """Something is damaged or half-committed. Repairing it needs the write lock."""


class Reader:
    """Reads the documents of one project and caches what it read last."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], tell: Callable[[str], None]
    ) -> None:
        """Read in `layout`; `tell` receives a sentence for everything set aside or restored."""
        self._layout = layout
        self._clock = clock
        self._tell = tell
        self._decoded: dict[str, tuple[bytes, Read]] = {}

    def remember(self, kind: Document[R], data: bytes, value: Record) -> None:
        """Cache what is about to be written, so that it is not decoded again."""
        self._decoded[kind.name] = (data, Read(data, value))

    def read(self, kind: Document[R]) -> Read:
        """Return a document as it is.

        Raises:
            NeedsRepairError: It is damaged, or it is not valid or not there and was before.
            InvalidDocumentError: It is not valid.
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

    def read_surely(self, kind: Document[R], quiet: float) -> Read:
        """Return a document as it is, as it was before an unfinished write, or restored. Hold the write lock.

        `quiet` is for how many seconds a file that is not whole is not worth a word. Without end it is
        left to whoever writes it, however old it is.

        Raises:
            StoreError: It is not valid, and its previous content is not known.
        """
        path = self._path(kind)
        try:
            return self.read(kind)
        except NeedsRepairError:
            pass
        try:
            return self._decode(kind, self._settled(kind), path)
        except DamagedError as error:
            return self._instead(kind, path, _unreadable(path, error), str(error), quiet)
        except InvalidDocumentError as error:
            # Only a program that has read the valid version continues with it.
            if quiet == math.inf or kind.name not in self._decoded:
                raise
            return self._instead(kind, path, error, error.message, quiet)

    def _instead(
        self,
        kind: Document[R],
        path: Path,
        problem: InvalidDocumentError,
        reason: str,
        quiet: float,
    ) -> Read:
        """Return the substitute for an invalid document, or what it is restored to."""
        good = self._last_good(kind)
        if quiet == math.inf or document_recovery.is_being_written(path):
            if good is not None:
                return self._stand_in(good, path, reason, quiet)
            if kind.name == PLAN.name or quiet == math.inf:
                raise problem
        repaired = document_recovery.repair(
            kind, path, good, layout=self._layout, reason=reason, now=self._clock()
        )
        if repaired is None:
            raise problem
        value, data, message = repaired
        self._tell(message)
        return Read(data, value)

    def _settled(self, kind: Document[R]) -> bytes | None:
        """Return a file's bytes once they stop changing, or None when it was removed for good."""
        path, name = self._path(kind), kind.name
        data = document_recovery.settled(path)
        if data is None and name in self._decoded:
            data = document_recovery.reappeared(path)
        if data is None:
            self._decoded.pop(name, None)
        return data

    def _last_good(self, kind: Document[R]) -> R | None:
        cached = self._decoded.get(kind.name)
        if cached is not None and isinstance(cached[1].value, kind.model):
            return cached[1].value
        return document_recovery.good_copy(kind, self._path(kind))

    def _stand_in(self, good: Record, path: Path, reason: str, quiet: float) -> Read:
        """Return what a file contained before the write that is under way."""
        if document_recovery.unchanged_for(path) >= quiet:
            self._tell(
                f"{path.name} cannot be used ({reason}). The last valid version is used; the file is set "
                f"aside {document_recovery.EDITOR_SECONDS:g} seconds after its last change."
            )
        return Read(b"", good, unfinished=True)

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
            value, told = newer_view(kind, data, error)
            self._tell(told)
            read = Read(data, value, newer=error)
        self._decoded[kind.name] = (data, read)
        return read

    def _path(self, kind: Document[R]) -> Path:
        path: Path = getattr(self._layout, kind.name)
        return path


def _unreadable(path: Path, error: DamagedError) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"{path} cannot be read: {error}.",
        "Correct the file, or wait until your editor has saved all of it; it was left as it is.",
    )
