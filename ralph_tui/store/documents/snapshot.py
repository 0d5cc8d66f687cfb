"""Read all documents, and write the changed ones in one step."""

import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.documents import document_recovery, multi_file_commit
from ralph_tui.store.documents.document_reader import NeedsRepairError, Read, Reader
from ralph_tui.store.documents.documents import (
    BREAKER,
    BUDGET,
    PLAN,
    PROJECT,
    QUESTIONS,
    STATE,
    STEPS,
    Document,
    Documents,
    breaker_from,
    encode_document,
    version_backup,
    with_breaker_summary,
    with_feature_costs,
)
from ralph_tui.store.guidance import Line, parse_lines, readable, render
from ralph_tui.store.io.files import DamagedError, read_regular, write_atomic
from ralph_tui.store.io.quarantine import set_aside
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock

KINDS: tuple[Document[Any], ...] = (STATE, PLAN, BUDGET, BREAKER, QUESTIONS, STEPS, PROJECT)

RETRY_SECONDS = 5.0
"""Seconds for which a transaction retries while another program keeps writing."""

QUIET_SECONDS = 3.0
"""Seconds for which a file may be incomplete before a transaction that does not need it reports it."""

LONGEST_PAUSE = 0.1


LONGEST_EDIT = 2 * document_recovery.EDITOR_SECONDS
"""Seconds that a transaction waits for a file that it changes and that another program keeps writing."""


class BeingWrittenError(StoreError):
    """A transaction would change a file that another program is still writing. Retry after releasing the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        super().__init__(
            f"Another program keeps changing {path}. It was not valid for {LONGEST_EDIT:g} seconds.",
            "Stop the editor or script that writes the file, then try again. The file keeps its version.",
        )


class DocumentSnapshot(NamedTuple):
    """All documents at one moment, with the raw data that a write needs."""

    documents: Documents
    reads: dict[str, Read]
    lines: tuple[Line, ...]
    injections: bytes | None


class Snapshots:
    """Loads and writes the documents of one project."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], report: Callable[[str], None]
    ) -> None:
        """Work on the documents of `layout`. `report` receives a sentence for each repair."""
        self._layout = layout
        self._clock = clock
        self._report = report
        self._reader = Reader(layout, clock, report)
        self._backed_up: dict[str, bytes] = {}
        self._cleaned = False
        self.intend: Callable[[Mapping[Path, bytes]], None] = lambda _: None
        """Called with the contents that are about to be written, by path."""

    def load(self, quiet: float = 0.0) -> DocumentSnapshot:
        """Return all documents. Takes the lock only when something needs repair.

        Args:
            quiet: Seconds for which an incomplete file is not reported; infinity to repair nothing.
        """
        if not os.path.exists(self._layout.commit):  # noqa: PTH110 - Path.exists raises without permission
            try:
                return self._read_all()
            except NeedsRepairError:
                pass
        with write_lock(self._layout):
            return self._load_locked(quiet)

    def transact(
        self, change: Callable[[Documents], Documents], moves: tuple[multi_file_commit.Move, ...]
    ) -> Documents:
        """Apply `change`, write what it changed and move directories, in one step. Hold the write lock.

        Raises:
            BeingWrittenError: A file to change is incomplete, because another program may be writing it.
            StoreError: A file kept changing for `RETRY_SECONDS`, or cannot be written.
        """
        if not self._cleaned:
            multi_file_commit.remove_leftovers(self._layout, self._report)
            self._cleaned = True
        started, pause = time.monotonic(), 0.001
        while True:
            before = self._load_locked(QUIET_SECONDS)
            for read in before.reads.values():
                if read.newer is not None:
                    raise read.newer
            changed_docs = with_feature_costs(with_breaker_summary(change(before.documents)))
            after = self._with_times(before.documents, changed_docs)
            if (unfinished := self._incomplete_path(before, after)) is not None:
                raise BeingWrittenError(unfinished)
            writes, documents = self._encoded(before, after)
            self._back_up_good(before)
            if not writes and not moves:
                return before.documents
            self.intend({write.path: write.data for write in writes})
            changed = multi_file_commit.write(self._layout, writes, self._report, moves)
            if changed is None:
                self._remember_written(writes, documents)
                return documents
            if time.monotonic() - started > RETRY_SECONDS:
                raise StoreError(
                    f"Another program keeps changing {changed}. It changed continuously for {RETRY_SECONDS:g} seconds.",
                    "Stop the editor or script that writes the file, then try again. The file keeps its version.",
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _load_locked(self, quiet: float) -> DocumentSnapshot:
        multi_file_commit.finish(self._layout, self._report)
        return self._read_all(quiet=quiet)

    def _incomplete_path(self, before: DocumentSnapshot, after: Documents) -> Path | None:
        for name, read in before.reads.items():
            if read.unfinished and getattr(after, name) != getattr(before.documents, name):
                return self._path(name)
        return None

    def _read_all(self, *, quiet: float | None = None) -> DocumentSnapshot:
        may_repair = quiet is not None
        reads = {
            kind.name: (
                self._reader.read(kind)
                if quiet is None
                else self._reader.read_or_repair(kind, quiet)
            )
            for kind in KINDS
        }
        data, lines = self._read_injections(may_repair=may_repair)
        values: dict[str, Any] = {name: read.value for name, read in reads.items()}  # by KINDS
        if reads[BREAKER.name].data is None:
            values[BREAKER.name] = breaker_from(values[STATE.name])
        pending = tuple(line.injection for line in lines if line.injection is not None)
        unfinished = tuple(self._path(name).name for name, read in reads.items() if read.unfinished)
        documents = Documents(
            **values, feature=self._layout.feature, pending=pending, unfinished=unfinished
        )
        return DocumentSnapshot(documents, reads, lines, data)

    def _read_injections(self, *, may_repair: bool) -> tuple[bytes | None, tuple[Line, ...]]:
        path = self._layout.injections
        try:
            data = read_regular(path)
        except DamagedError as error:
            if not may_repair:
                raise NeedsRepairError from error
            aside = set_aside(path, self._clock())
            self._report(f"{path.name} is {error} and was set aside as {aside.name}.")
            data = None
        lines = parse_lines(data or b"")
        for line in lines:
            if line.injection is None:
                self._report(
                    f"A line of {path.name} is not valid guidance ({line.problem}) "
                    f"and was ignored: {readable(line.raw)}"
                )
        return data, lines

    def _with_times(self, before: Documents, after: Documents) -> Documents:
        update: dict[str, Record] = {}
        if after.plan != before.plan:
            now = self._clock()
            begun = after.plan.created_at or before.plan.last_modified or now
            created = begun if after.plan.tasks else after.plan.created_at
            stamps = {"created_at": created, "last_modified": now}
            update["plan"] = after.plan.model_copy(update=stamps)
        if after.state != before.state:
            update["state"] = after.state.model_copy(update={"last_activity_at": self._clock()})
        return after.model_copy(update=update) if update else after

    def _encoded(
        self, before: DocumentSnapshot, after: Documents
    ) -> tuple[tuple[multi_file_commit.Write, ...], Documents]:
        writes: list[multi_file_commit.Write] = []
        values: dict[str, Record] = {}
        for kind in KINDS:
            read, value = before.reads[kind.name], getattr(after, kind.name)
            unchanged = value == getattr(before.documents, kind.name)
            if kind is BREAKER and read.data is None:  # without a file it is rebuilt from the state
                unchanged = unchanged and value == breaker_from(after.state)
            if unchanged and read.migrated_from is None:
                continue
            path = self._path(kind.name)
            values[kind.name], data = encode_document(kind, value, path)
            self._keep_old_version(path, read)
            writes.append(multi_file_commit.Write(path, data, read.data))
        if after.pending != before.documents.pending:
            data = render(before.lines, after.pending)
            writes.append(multi_file_commit.Write(self._layout.injections, data, before.injections))
        return tuple(writes), after.model_copy(update=values)

    def _keep_old_version(self, path: Path, read: Read) -> None:
        """Keep a migrated document's old bytes beside it, unless that was done before."""
        if read.migrated_from is None or read.data is None:
            return
        backup = version_backup(path, read.migrated_from)
        if not backup.exists():
            write_atomic(backup, read.data)
            self._report(
                f"{path.name} was migrated to the current version. The old version was saved as {backup.name}."
            )

    def _back_up_good(self, snapshot: DocumentSnapshot) -> None:
        """Back up the valid documents that were read, such as a hand-written plan, so that they can be restored."""
        for kind in KINDS:
            read = snapshot.reads[kind.name]
            data = None if read.unfinished else read.data
            if data is not None and self._backed_up.get(kind.name) != data:
                self._keep_backup(kind.name, data)

    def _remember_written(
        self, writes: tuple[multi_file_commit.Write, ...], documents: Documents
    ) -> None:
        kinds = {self._path(kind.name): kind for kind in KINDS}
        for write in writes:
            if (kind := kinds.get(write.path)) is not None:
                self._reader.remember(kind, write.data, getattr(documents, kind.name))
                self._keep_backup(kind.name, write.data)

    def _keep_backup(self, name: str, data: bytes) -> None:
        problem = document_recovery.keep_backup(self._path(name), data)
        if problem:
            self._report(problem)
        else:
            self._backed_up[name] = data

    def _path(self, name: str) -> Path:
        path: Path = getattr(self._layout, name)
        return path
