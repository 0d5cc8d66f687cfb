"""Reading one document: as it is, as it was while somebody writes it, or restored."""

import math
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.model import Record
from ralph_tui.store import newer, recovery
from ralph_tui.store.documents import PLAN, Document, decode_document
from ralph_tui.store.files import DamagedError, read_regular
from ralph_tui.store.layout import Layout
from ralph_tui.store.migrate import NewerError

R = TypeVar("R", bound=Record)

LONGEST_LOOK = 5.0
"""Seconds a read waits for a file that is never still and of which there is no good copy."""


class Read(NamedTuple):
    """A document as it was read: its bytes (None when missing), its model, its older version."""

    data: bytes | None
    value: Record
    migrated_from: int | None = None
    newer: NewerError | None = None
    """Why it is only looked at: a newer ralph wrote it."""
    unfinished: bool = False
    """Somebody is writing it: the model is what it said before, and only read."""


class NeedsRepairError(Exception):
    """Something is damaged or half-committed; the write lock is needed to put it right."""


class Reader:
    """Reads the documents of one project, and remembers what it read last."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], tell: Callable[[str], None]
    ) -> None:
        """Read in `layout`; `tell` gets a sentence for everything set aside or restored."""
        self._layout = layout
        self._clock = clock
        self._tell = tell
        self._decoded: dict[str, tuple[bytes, Read]] = {}

    def remember(self, kind: Document[R], data: bytes, value: Record) -> None:
        """What is about to be written, and so need not be decoded again."""
        self._decoded[kind.name] = (data, Read(data, value))

    def read(self, kind: Document[R]) -> Read:
        """A document as it is.

        Raises:
            NeedsRepairError: It is damaged, or was there before and is not now.
        """
        path = self._path(kind)
        try:
            data = read_regular(path)
            if data is not None or kind.name not in self._decoded:
                return self._decode(kind, data, path)
        except DamagedError as error:
            raise NeedsRepairError from error
        raise NeedsRepairError

    def read_surely(self, kind: Document[R], patience: float) -> Read:
        """A document as it is, as it was while somebody writes it, or restored; call with the lock held.

        Raises:
            StoreError: Patience is without end, and it is not known what the file said before.
        """
        try:
            return self.read(kind)
        except NeedsRepairError:
            pass
        path, until = self._path(kind), time.monotonic() + LONGEST_LOOK
        while True:
            try:
                return self._decode(kind, self._settled(kind), path)
            except DamagedError as error:
                if recovery.is_being_written(path, patience):
                    good = self._last_good(kind)
                    if good is not None:
                        return self._stand_in(good, path, patience)
                    if patience == math.inf:
                        raise _not_whole(path, error) from error
                waits = recovery.is_being_written(path, recovery.DEPENDED_SECONDS)
                if waits and time.monotonic() < until:
                    continue
                value, data, message = recovery.repair(
                    kind,
                    path,
                    self._last_good(kind),
                    layout=self._layout,
                    reason=str(error),
                    now=self._clock(),
                )
                self._tell(message)
                return Read(data, value)

    def _settled(self, kind: Document[R]) -> bytes | None:
        """A file's bytes once they stand still; None when it was removed for good."""
        path, name = self._path(kind), kind.name
        data = recovery.settled(path)
        if data is None and name in self._decoded:
            data = recovery.reappeared(path)
        if data is None:
            self._decoded.pop(name, None)
        return data

    def _last_good(self, kind: Document[R]) -> R | None:
        cached = self._decoded.get(kind.name)
        if cached is not None and isinstance(cached[1].value, kind.model):
            return cached[1].value
        return recovery.good_copy(kind, self._path(kind))

    def _stand_in(self, good: Record, path: Path, patience: float) -> Read:
        """What a file said before, while somebody writes it; who is patient without end says so themselves."""
        if patience < math.inf and not recovery.is_being_written(path, recovery.DEPENDED_SECONDS):
            self._tell(
                f"{path.name} is not whole; what it said before holds while somebody may be writing it. "
                f"After {recovery.EDITOR_SECONDS:g} seconds it is set aside."
            )
        return Read(b"", good, unfinished=True)

    def _decode(self, kind: Document[R], data: bytes | None, path: Path) -> Read:
        if data is None:
            aside = recovery.unrestored_plan(path) if kind.name == PLAN.name else None
            if aside is not None:
                raise recovery.lost_plan(path, aside)
            return Read(None, kind.model())
        cached = self._decoded.get(kind.name)
        if cached is not None and cached[0] == data:
            return cached[1]
        try:
            decoded = decode_document(kind, data, path)
            read = Read(data, decoded.value, decoded.migrated_from)
        except NewerError as error:
            value, told = newer.view(kind, data, error)
            self._tell(told)
            read = Read(data, value, newer=error)
        self._decoded[kind.name] = (data, read)
        return read

    def _path(self, kind: Document[R]) -> Path:
        path: Path = getattr(self._layout, kind.name)
        return path


def _not_whole(path: Path, error: DamagedError) -> StoreError:
    return StoreError(
        f"{path} is not whole: {error}.",
        "Somebody may be writing it. Correct it if it stays so; what is saved there is read at once.",
    )
