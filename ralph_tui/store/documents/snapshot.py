"""Read all documents, and write the changed ones in one step."""

import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.store.backup.mirror import Mirror
from ralph_tui.store.documents import multi_file_commit
from ralph_tui.store.documents.document_reader import Read, Reader
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
    with_breaker_summary,
    with_feature_costs,
)
from ralph_tui.store.guidance import Line, parse_lines, readable, render
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.quarantine import set_aside
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock

KINDS: tuple[Document[Any], ...] = (STATE, PLAN, BUDGET, BREAKER, QUESTIONS, STEPS, PROJECT)

RETRY_SECONDS = 5.0
"""Seconds for which a transaction retries while another program keeps writing."""

LONGEST_PAUSE = 0.1


class DocumentSnapshot(NamedTuple):
    """All documents at one moment, with the raw data that a write needs."""

    documents: Documents
    reads: dict[str, Read]
    lines: tuple[Line, ...]
    injections: bytes | None


class Snapshots:
    """Loads and writes the documents of one project."""

    def __init__(
        self,
        layout: Layout,
        clock: Callable[[], datetime],
        report: Callable[[str], None],
        mirror: Mirror,
    ) -> None:
        """Work on the documents of `layout`. `report` receives a sentence for each problem."""
        self._layout = layout
        self._clock = clock
        self._report = report
        self._mirror = mirror
        self._reader = Reader(layout, report)
        self._cleaned = False

    def load(self, *, is_look: bool = False) -> DocumentSnapshot:
        """Return all documents. Takes the lock only to finish what a dead process began; `is_look` as in `Reader`."""
        if os.path.exists(self._layout.commit):  # noqa: PTH110 - Path.exists raises without permission
            with write_lock(self._layout):
                multi_file_commit.finish(self._layout, self._report)
        return self._read_all(is_look=is_look)

    def transact(
        self, change: Callable[[Documents], Documents], moves: tuple[multi_file_commit.Move, ...]
    ) -> Documents:
        """Apply `change`, write what it changed and move directories, in one step. Hold the write lock.

        Raises:
            StoreError: A file kept changing for `RETRY_SECONDS`, or cannot be written.
        """
        if not self._cleaned:
            multi_file_commit.remove_leftovers(self._layout, self._report)
            self._cleaned = True
        started, pause = time.monotonic(), 0.001
        while True:
            multi_file_commit.finish(self._layout, self._report)
            before = self._read_all(is_look=False)
            changed_docs = with_feature_costs(with_breaker_summary(change(before.documents)))
            after = self._with_times(before.documents, changed_docs)
            writes, documents = self._encoded(before, after)
            changed = None
            if writes or moves:
                changed = multi_file_commit.write(self._layout, writes, self._report, moves)
            if changed is None:
                own = {write.path: write.data for write in writes}
                self._mirror.sync(self._remember(before, own, documents), own)
                return documents
            if time.monotonic() - started > RETRY_SECONDS:
                raise StoreError(
                    f"Another program keeps changing {changed}. It changed continuously for {RETRY_SECONDS:g} seconds.",
                    "Stop the editor or script that writes the file, then try again. The file keeps its version.",
                )
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _read_all(self, *, is_look: bool) -> DocumentSnapshot:
        reads = {kind.name: self._reader.read(kind, is_look=is_look) for kind in KINDS}
        data, lines = self._read_injections(is_look=is_look)
        values: dict[str, Any] = {name: read.value for name, read in reads.items()}  # by KINDS
        breaker = reads[BREAKER.name]
        if breaker.data is None or (breaker.problem and breaker.value == CircuitBreaker()):
            values[BREAKER.name] = breaker_from(values[STATE.name])
        pending = tuple(line.injection for line in lines if line.injection is not None)
        unfinished = tuple(
            self._layout.document(name).name for name, read in reads.items() if read.problem
        )
        documents = Documents(
            **values, feature=self._layout.feature, pending=pending, unfinished=unfinished
        )
        return DocumentSnapshot(documents, reads, lines, data)

    def _read_injections(self, *, is_look: bool) -> tuple[bytes | None, tuple[Line, ...]]:
        path = self._layout.injections
        try:
            data = read_regular(path)
        except DamagedError as error:
            if not is_look:
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
            if unchanged:
                continue
            path = self._layout.document(kind.name)
            values[kind.name], data = encode_document(kind, value, path)
            if read.problem:
                self._set_aside(path, read)
            writes.append(multi_file_commit.Write(path, data, read.data))
        if after.pending != before.documents.pending:
            data = render(before.lines, after.pending)
            writes.append(multi_file_commit.Write(self._layout.injections, data, before.injections))
        written = {write.path.name for write in writes}
        unfinished = tuple(name for name in after.unfinished if name not in written)
        return tuple(writes), after.replacing(**values, unfinished=unfinished)

    def _set_aside(self, path: Path, read: Read) -> None:
        """Keep another name for an invalid file that is about to be replaced."""
        aside = set_aside(path, self._clock(), is_replaced=read.data is not None)
        self._report(
            f"{path.name} was damaged ({read.problem}) and was set aside as {aside.name}, because ralph had to write "
            "the file. To use your version, correct it and move it back."
        )

    def _remember(
        self, before: DocumentSnapshot, written: dict[Path, bytes], documents: Documents
    ) -> dict[Path, bytes]:
        """Cache what was written, and return the content of every valid document."""
        valid: dict[Path, bytes] = {}
        for kind in KINDS:
            path, read = self._layout.document(kind.name), before.reads[kind.name]
            if path in written:
                valid[path] = written[path]
                self._reader.remember(kind, written[path], getattr(documents, kind.name))
            elif read.data is not None and not read.problem:
                valid[path] = read.data
        return valid
