"""Reading all documents, and writing those that changed, as one step."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.model import Record
from ralph_tui.store import commit, newer, recovery
from ralph_tui.store.documents import (
    BREAKER,
    BUDGET,
    PLAN,
    QUESTIONS,
    STATE,
    Document,
    Documents,
    breaker_from,
    decode_document,
    encode_document,
    synced,
    version_backup,
)
from ralph_tui.store.files import DamagedError, read_regular, set_aside, write_atomic
from ralph_tui.store.injections import Line, parse_lines, readable, render
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock
from ralph_tui.store.migrate import NewerError

R = TypeVar("R", bound=Record)

KINDS: tuple[Document[Any], ...] = (
    STATE,
    PLAN,
    BUDGET,
    BREAKER,
    QUESTIONS,
)  # each of its own model
PATIENCE_SECONDS = 5.0
"""How long a transaction tries to get between the writes of another program."""

LONGEST_PAUSE = 0.1


@dataclass(frozen=True)
class Read:
    """A document as it was read: its bytes (None when missing), its model, its older version."""

    data: bytes | None
    value: Record
    migrated_from: int | None = None
    newer: NewerError | None = None
    """Why it is only looked at: a newer ralph wrote it."""


@dataclass(frozen=True)
class Snapshot:
    """All documents at one moment, with what is needed to write them back."""

    documents: Documents
    reads: dict[str, Read]
    lines: tuple[Line, ...]
    injections: bytes | None


class NeedsRepairError(Exception):
    """Something is damaged or half-committed; the write lock is needed to put it right."""


class Snapshots:
    """Loads and writes the documents of one project."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], tell: Callable[[str], None]
    ) -> None:
        """Work in `layout`; `tell` gets a sentence for everything set aside or restored."""
        self._layout = layout
        self._clock = clock
        self._tell = tell
        self._decoded: dict[str, tuple[bytes, Read]] = {}
        self._backed_up: dict[str, bytes] = {}
        self._swept = False

    def load(self) -> Snapshot:
        """All documents; takes the lock only when something must be put right."""
        if not self._layout.commit.exists():
            try:
                return self._read_all(may_repair=False)
            except NeedsRepairError:
                pass
        with write_lock(self._layout):
            return self._load_locked()

    def transact(self, change: Callable[[Documents], Documents]) -> Documents:
        """Apply `change` and write what it changed; call with the write lock held.

        Raises:
            StoreError: A file changed under every try for `PATIENCE_SECONDS`, or cannot be written.
        """
        if not self._swept:
            commit.sweep(self._layout, self._tell)
            self._swept = True
        until, pause = time.monotonic() + PATIENCE_SECONDS, 0.001
        while True:
            before = self._load_locked()
            for read in before.reads.values():
                if read.newer is not None:
                    raise read.newer
            after = self._stamped(before.documents, synced(change(before.documents)))
            writes, documents = self._encoded(before, after)
            self._back_up_good(before)
            if not writes:
                return before.documents
            changed = commit.write(self._layout, writes, self._tell)
            if changed is None:
                self._keep_backups(writes)
                return documents
            if time.monotonic() > until:
                raise _never_still(changed)
            time.sleep(pause)  # who writes in bursts pauses some time
            pause = min(2 * pause, LONGEST_PAUSE)

    def _load_locked(self) -> Snapshot:
        commit.finish(self._layout, self._tell)
        return self._read_all(may_repair=True)

    def _read_all(self, *, may_repair: bool) -> Snapshot:
        reads = {kind.name: self._read(kind, may_repair=may_repair) for kind in KINDS}
        data, lines = self._read_injections(may_repair=may_repair)
        values: dict[str, Any] = {name: read.value for name, read in reads.items()}  # by KINDS
        if reads[BREAKER.name].data is None:
            values[BREAKER.name] = breaker_from(values[STATE.name])
        pending = tuple(line.injection for line in lines if line.injection is not None)
        return Snapshot(Documents(**values, pending=pending), reads, lines, data)

    def _read(self, kind: Document[R], *, may_repair: bool) -> Read:
        path = self._path(kind.name)
        try:
            data = read_regular(path)
            return self._decode(kind, data, path)
        except DamagedError as error:
            if not may_repair:
                raise NeedsRepairError from error
        try:
            return self._decode(kind, recovery.settled(path), path)
        except DamagedError as error:
            value, data, message = recovery.repair(
                kind, path, layout=self._layout, reason=str(error), now=self._clock()
            )
            self._tell(message)
            return Read(data, value)

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

    def _read_injections(self, *, may_repair: bool) -> tuple[bytes | None, tuple[Line, ...]]:
        path = self._layout.injections
        try:
            data = read_regular(path)
        except DamagedError as error:
            if not may_repair:
                raise NeedsRepairError from error
            aside = set_aside(path, self._clock())
            self._tell(f"{path.name} is {error} and was set aside as {aside.name}.")
            data = None
        lines = parse_lines(data or b"")
        for line in lines:
            if line.injection is None:
                self._tell(
                    f"A line of {path.name} is no guidance ({line.problem}) "
                    f"and is passed over: {readable(line.raw)}"
                )
        return data, lines

    def _stamped(self, before: Documents, after: Documents) -> Documents:
        """The times of what changed."""
        update: dict[str, Record] = {}
        if after.plan != before.plan:
            update["plan"] = after.plan.model_copy(update={"last_modified": self._clock()})
        if after.state != before.state:
            update["state"] = after.state.model_copy(update={"last_activity_at": self._clock()})
        return after.model_copy(update=update) if update else after

    def _encoded(
        self, before: Snapshot, after: Documents
    ) -> tuple[tuple[commit.Write, ...], Documents]:
        """The files to write, and the documents as they will be read back."""
        writes: list[commit.Write] = []
        values: dict[str, Record] = {}
        for kind in KINDS:
            read, value = before.reads[kind.name], getattr(after, kind.name)
            unchanged = value == getattr(before.documents, kind.name)
            if unchanged and read.migrated_from is None:
                continue
            path = self._path(kind.name)
            values[kind.name], data = encode_document(kind, value, path)
            self._keep_old_version(path, read)
            self._decoded[kind.name] = (data, Read(data, values[kind.name]))
            writes.append(commit.Write(path, data, read.data))
        if after.pending != before.documents.pending:
            data = render(before.lines, after.pending)
            writes.append(commit.Write(self._layout.injections, data, before.injections))
        return tuple(writes), after.model_copy(update=values)

    def _keep_old_version(self, path: Path, read: Read) -> None:
        """A migrated document's old bytes stay beside it, once."""
        if read.migrated_from is None or read.data is None:
            return
        backup = version_backup(path, read.migrated_from)
        if not backup.exists():
            write_atomic(backup, read.data)
            self._tell(
                f"{path.name} was brought up to date; the old version is kept as {backup.name}."
            )

    def _back_up_good(self, snapshot: Snapshot) -> None:
        """What was read and is good, such as a hand-written plan, is what a restore gives back."""
        for kind in KINDS:
            data = snapshot.reads[kind.name].data
            if data is not None and self._backed_up.get(kind.name) != data:
                self._keep_backup(kind.name, data)

    def _keep_backups(self, writes: tuple[commit.Write, ...]) -> None:
        names = {self._path(kind.name): kind.name for kind in KINDS}
        for write in writes:
            if write.path in names:
                self._keep_backup(names[write.path], write.data)

    def _keep_backup(self, name: str, data: bytes) -> None:
        problem = recovery.keep_backup(self._path(name), data)
        if problem:
            self._tell(problem)
        else:
            self._backed_up[name] = data

    def _path(self, name: str) -> Path:
        path: Path = getattr(self._layout, name)
        return path


def _never_still(path: Path) -> StoreError:
    return StoreError(
        f"Another program keeps changing {path}: it was never still for {PATIENCE_SECONDS:g} seconds.",
        "End the editor or script that writes it, then try again; its version is in place.",
    )
