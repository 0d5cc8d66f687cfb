"""One project's `.ralph/`: load a snapshot, change it in a transaction, write the notes beside it."""

import base64
import binascii
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import bounded
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Injection, Phase, SessionRecord
from ralph_tui.store import project_dir, text_files
from ralph_tui.store.backup import mirror
from ralph_tui.store.documents import snapshot
from ralph_tui.store.documents.document_guard import DocumentGuard
from ralph_tui.store.documents.documents import Documents, Outcome, Returning
from ralph_tui.store.documents.snapshot import BeingWrittenError, Snapshots
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.guidance import new_injection
from ralph_tui.store.io.files import explained, open_regular, utc_now, write_atomic
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock
from ralph_tui.store.project_root import upwards

if TYPE_CHECKING:
    from ralph_tui.domain.documents.extensions import Picture
    from ralph_tui.domain.documents.progress_log import Progress
    from ralph_tui.domain.documents.specs import Spec
    from ralph_tui.domain.documents.validation_report import ValidationReport
    from ralph_tui.domain.plan.plan import ImplementationPlan
    from ralph_tui.store.backup.receipts import ReceiptBook
    from ralph_tui.store.documents.multi_file_commit import Move


MAX_BYTES = 3_000_000
_SIGNATURES = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".gif": b"GIF8",
    ".webp": b"RIFF",
}


def write_picture(
    layout: Layout, round_number: int, number: int, picture: "Picture"
) -> Path | None:
    """Write a picture of the validation phase.

    Args:
        layout: The project's paths.
        round_number: The round of validation, from 1.
        number: The picture's number in the round.
        picture: The picture, in base64.

    Returns:
        The file, or None when the data is no picture or more than `MAX_BYTES`.
    """
    try:
        data = base64.b64decode(picture.data, validate=True)
    except binascii.Error:
        return None
    ending = next((end for end, sign in _SIGNATURES.items() if data.startswith(sign)), None)
    if ending is None or len(data) > MAX_BYTES:
        return None
    path = layout.validation_pictures / f"r{round_number}-{number:02}{ending}"
    with explained("make the directory of", path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, data)
    return path


T = TypeVar("T")

CLEAN_EVERY = timedelta(hours=1)
"""A long run archives thousands of memories, and checking all of them each time would take seconds."""

AGAIN_SECONDS = 0.1

__all__ = ["Documents", "Outcome", "Project"]


class Project:
    """A project on disk. Cheap to create, safe to share between threads; every call blocks."""

    def __init__(
        self,
        root: Path,
        feature: str | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Address a feature of the project at `root`; nothing is created yet.

        Args:
            root: The project's directory.
            feature: The feature's name, empty for the plan without one; None for the one that this process
                works on.
            clock: Tells the time, in UTC.
            tell: Receives at once what `damage` returns otherwise.
        """
        self._tell_at_once = tell
        self.root = Path(os.path.realpath(root))
        self.layout = layout_of(self.root) if feature is None else Layout(self.root, feature)
        self._clock = clock
        self._told: list[str] = []
        self._told_once: set[str] = set()
        self._undone: list[str] = []
        self._told_lock = threading.Lock()
        self._cleaned_at: datetime | None = None
        self._snapshots = Snapshots(self.layout, clock, self._tell)
        self._guard = DocumentGuard(self.layout, clock, self._tell_undone)
        self._snapshots.intend = self._guard.intend
        self._mirror = mirror.Mirror(self.layout, self._tell, self._guard.may_copy)

    @cached_property
    def receipts(self) -> "ReceiptBook":
        """The records of completions, which a look at the documents does not need."""
        from ralph_tui.store.backup.receipts import ReceiptBook

        return ReceiptBook(self.layout)

    @classmethod
    def find(cls, start: Path, feature: str | None = None) -> Self:
        """Return the project that contains `start`: the nearest directory upwards with a `.ralph`.

        `feature` is as in `Project`.

        Raises:
            StoreError: There is none, or it is gone while a copy of its state is kept.
        """
        here = start.resolve()
        for directory in upwards(here):
            if os.path.lexists(Layout(directory).dot):
                return cls(directory, feature)
            if (lost := mirror.missing_state(directory)) is not None:
                raise lost
        raise StoreError(
            f"No ralph project in {here} or above it.",
            "Run `ralph init` in your project first; `ralph demo` shows how ralph works.",
        )

    def create(self) -> None:
        """Create `.ralph` and its directories; keep what exists.

        Raises:
            StoreError: `.ralph` is a file, a symlink to nowhere or outside, or cannot be written.
        """
        if not os.path.lexists(self.layout.dot):
            self._mirror.renew()
        project_dir.make(self.layout)

    def load(self) -> Documents:
        """Return a snapshot of all documents, with defaults for missing ones.

        Raises:
            StoreError: There is no `.ralph`, or a document needs a person.
        """
        self._require_dot()
        return self._snapshots.load().documents

    def look(self) -> Documents:
        """Return a snapshot without repairing anything: an unfinished file is left to its writer.

        Raises:
            StoreError: There is no `.ralph`, a document needs a person, or the previous content
                of a damaged one is not known.
        """
        self._require_dot()
        return self._snapshots.load(math.inf).documents

    def transact(self, change: Callable[[Documents], Documents]) -> Documents:
        """Change documents in one step that no other process can interrupt.

        Args:
            change: A pure function. It is called again when somebody edits a file by hand at the
                same moment; when it raises, nothing is written.

        Returns:
            The documents as they are on disk now.

        Raises:
            StoreError: The lock, the disk or a document does not allow it; nothing was changed.
        """
        started = time.monotonic()
        while True:
            try:
                return self.transact_now(change)
            except BeingWrittenError as busy:
                if time.monotonic() - started > snapshot.LONGEST_EDIT:
                    raise
                self._snapshots.load()  # reports what is wrong
                self._tell(f"Waiting for {busy.path.name}, so that your edit is not lost.")
            time.sleep(AGAIN_SECONDS)  # without the lock, so that others are not kept waiting

    def transact_returning(self, change: Callable[[Documents], Outcome[T]]) -> Outcome[T]:
        """Change documents as `transact` does; return also what `change` found out."""
        returning = Returning(change)
        documents = self.transact(returning)
        return Outcome(documents, returning.value)

    def transact_now(self, change: Callable[[Documents], Documents]) -> Documents:
        """Change documents as `transact` does, but do not wait for an unfinished file.

        Raises:
            BeingWrittenError: What is to change is not whole, because somebody may be writing it.
        """
        return self.transact_moving(change, ())

    def transact_moving(
        self, change: Callable[[Documents], Documents], moves: "tuple[Move, ...]"
    ) -> Documents:
        """Change documents as `transact_now` does, and rename directories in the same step.

        Raises:
            BeingWrittenError: What is to change is not whole, because somebody may be writing it.
        """
        self._require_dot()
        with write_lock(self.layout):
            self._guard.undo()
            documents = self._snapshots.transact(lambda docs: _bounded(change(docs)), moves)
            self._mirror.sync()
            return documents

    def undo_agents_edits(self) -> None:
        """Undo changes of the documents that a command of the agent made.

        Raises:
            StoreError: The lock or the disk does not allow it.
        """
        if os.path.lexists(self.layout.dot) and self._guard.differs():
            with write_lock(self.layout):
                self._guard.undo()

    def undone(self) -> tuple[str, ...]:
        """Return the agent's changes that were undone since the last call, as sentences for a person."""
        with self._told_lock:
            told, self._undone = tuple(self._undone), []
        return told

    def damage(self) -> tuple[str, ...]:
        """Return what was set aside or restored since the last call, as sentences for a person."""
        with self._told_lock:
            told, self._told = tuple(self._told), []
        return told

    def queue_injection(self, guidance: str, by: str = "user", *, now: bool = False) -> Injection:
        """Add guidance for the next iteration, or for the running turn."""
        injection = new_injection(guidance, by, self._clock()).model_copy(update={"now": now})
        self.transact(lambda d: d.replacing(pending=(*d.pending, injection)))
        return injection

    def append_learning(self, category: str, text: str) -> None:
        """Add `[time] CATEGORY: text` as one line to progress.txt."""
        text_files.append_learning(self.layout, category, text, self._clock())

    def append_progress(self, progress: "Progress", plan: "ImplementationPlan") -> None:
        """Add the block of an iteration to progress.txt."""
        name = self.layout.feature or plan.title or self.root.name
        text_files.append_progress(self.layout, progress, plan, name)

    def read_learnings(self, limit: int) -> tuple[str, ...]:
        """Return the last lines of progress.txt, newest last."""
        return text_files.read_learnings(self.layout, limit)

    def every_learning(self) -> tuple[str, ...]:
        """Return all learnings of the log, newest last."""
        return text_files.every_learning(self.layout)

    def compact_learnings(self, taken: Sequence[str], instead: Sequence[str]) -> Path:
        """Put other learnings in the place of some; return the copy of the log as it was.

        Raises:
            StoreError: The log has changed since, or cannot be written.
        """
        return text_files.compact_learnings(self.layout, taken, instead, self._clock())

    def write_memory(self, text: str) -> Path:
        """Write the hand-off to the next session."""
        return text_files.write_text(self.layout.memory, text, mode=text_files.PROJECT_MODE)

    def read_memory(self) -> str:
        """Return the hand-off of the last session, or an empty string."""
        return self.read_text(self.layout.memory, text_files.TAIL_BYTES)

    def handoff(self) -> tuple[str, datetime | None]:
        """Return the hand-off of the last session and when ralph or the person wrote it."""
        try:
            written = datetime.fromtimestamp(self.layout.memory.stat().st_mtime, UTC)
        except (OSError, OverflowError, ValueError):
            written = None
        return self.read_memory(), written

    def write_active_memory(self, text: str) -> Path:
        """Write the memory that goes into prompts."""
        self._require_dot()
        return text_files.write_text(self.layout.active_memory, text)

    def write_iteration_memory(self, iteration: int, text: str) -> Path:
        """Write what an iteration did; the oldest memories move to the archive."""
        return self._write_numbered(
            self.layout.memory_iterations, "iter", iteration, text, text_files.KEPT_ITERATIONS
        )

    def write_session_memory(self, number: int, text: str) -> Path:
        """Write what a session did; the oldest memories move to the archive."""
        return self._write_numbered(
            self.layout.memory_sessions, "session", number, text, text_files.KEPT_SESSIONS
        )

    def write_phase_memory(self, phase: Phase, text: str) -> Path:
        """Write what a phase led to, replacing an earlier round of the same phase."""
        self._require_dot()
        return text_files.write_text(self.layout.memory_phases / f"{phase.value}.md", text)

    def old_memories(self) -> tuple[Path, ...]:
        """Return the archived memories that are old enough to remove."""
        return text_files.old_archived(self.layout.memory_archive, self._clock())

    def clean_archive(self) -> tuple[Path, ...]:
        """Remove archived memories that are too old, as each new memory does; return the removed files."""
        self._require_dot()
        return text_files.clean_archive(self.layout.memory_archive, self._clock())

    def rotate_memories(self) -> tuple[Path, ...]:
        """Archive all but the newest memories; return the former paths of the archived ones."""
        self._require_dot()
        archive = self.layout.memory_archive
        return (
            *text_files.rotate(
                self.layout.memory_iterations, archive, "iter", text_files.KEPT_ITERATIONS
            ),
            *text_files.rotate(
                self.layout.memory_sessions, archive, "session", text_files.KEPT_SESSIONS
            ),
        )

    def read_phase_memory(self, phase: Phase) -> str:
        """Return what a phase led to, or an empty string."""
        return self.read_text(
            self.layout.memory_phases / f"{phase.value}.md", text_files.TAIL_BYTES
        )

    def read_specs(self) -> tuple["Spec", ...]:
        """Return the specifications, by file name."""
        return text_files.read_specs(self.layout)

    def write_report(self, report: "ValidationReport") -> Path:
        """Write the validation report."""
        self._require_dot()
        text = json_text(report, indent=2) + "\n"
        self._write_guarded(self.layout.validation_report, text)
        return self.layout.validation_report

    def write_config(self, text: str) -> None:
        """Replace the project's settings file."""
        self._write_guarded(self.layout.config, text)

    def _write_guarded(self, path: Path, text: str) -> None:
        with write_lock(self.layout):
            self._guard.intend({path: text.encode()})
            write_atomic(path, text.encode())
            self._mirror.sync()

    def read_report(self) -> "ValidationReport | None":
        """Return the last validation report, or None when it is missing or unreadable (the latter is reported)."""
        from ralph_tui.domain.documents.validation_report import ValidationReport

        text = self.read_text(self.layout.validation_report, text_files.REPORT_BYTES)
        if not text:
            return None
        try:
            return ValidationReport.model_validate_json(text)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_context=False)[0]["msg"]
            self._tell(f"{self.layout.validation_report} cannot be read: {problem}.")
            return None

    def write_picture(self, round_number: int, number: int, picture: "Picture") -> str | None:
        """Write a picture of the validation; return its path in the project, or None when it is refused."""
        self._require_dot()
        path = write_picture(self.layout, round_number, number, picture)
        return str(path.relative_to(self.root)) if path else None

    def archive_plan(self) -> Path | None:
        """Copy the plan into the session history before it is replaced; return None without a plan."""
        self._require_dot()
        return text_files.archive_plan(self.layout, self._clock())

    def recent_iteration_memories(self, limit: int = 3) -> tuple[str, ...]:
        """Return the memories of the last iterations, newest last."""
        paths = text_files.numbered(self.layout.memory_iterations, "iter")
        recent = paths[-limit:] if limit > 0 else []
        return tuple(self.read_text(path, text_files.TAIL_BYTES) for path in recent)

    def archive_session(self, record: SessionRecord) -> None:
        """Add an ended session to the history; without a time it ended now."""
        self._require_dot()
        ended = {"ended_at": record.ended_at or self._clock(), "feature": self.layout.feature}
        text_files.archive_session(self.layout, record.model_copy(update=ended))

    def read_sessions(self) -> tuple[SessionRecord, ...]:
        """Return the history of sessions, oldest first; unreadable lines are skipped."""
        records, unreadable = text_files.read_sessions(self.layout)
        if unreadable:
            name = self.layout.sessions.name
            self._tell(f"{unreadable} lines of {name} cannot be read and were passed over.")
        return records

    def read_text(self, path: Path, limit: int) -> str:
        """Return at most `limit` bytes of a text file; empty when it is absent or outside the project."""
        return text_files.read_text(self.layout, path, limit)

    def log_path(self, name: str) -> Path:
        """Return the path of a log, creating the file so that only its owner can read it.

        Raises:
            StoreError: The name would leave the log directory, or is something else than a file.
        """
        if not name or name.startswith(".") or any(c in name for c in "/\\\0\n"):
            raise StoreError(f"{name!r} cannot be the name of a log.", "Use a plain file name.")
        path = self.layout.logs / name
        with explained("make", path):
            self.layout.logs.mkdir(mode=0o700, exist_ok=True)
            os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))
        return path

    def _write_numbered(
        self, directory: Path, stem: str, number: int, text: str, keep: int
    ) -> Path:
        self._require_dot()
        archive = self.layout.memory_archive
        written = text_files.write_numbered(directory, archive, stem, number, text, keep=keep)
        now = self._clock()
        if self._cleaned_at is None or now - self._cleaned_at >= CLEAN_EVERY:
            text_files.clean_archive(archive, now)
            self._cleaned_at = now
        return written

    def _require_dot(self) -> None:
        """Refuse unless `.ralph` is a directory inside the project; a missing one is never recreated."""
        lost = None if os.path.lexists(self.layout.dot) else mirror.missing_state(self.root)
        if lost is not None:
            raise lost
        project_dir.require(self.layout)

    def _tell_undone(self, message: str) -> None:
        with self._told_lock:
            self._undone.append(message)

    def _tell(self, message: str) -> None:
        """Keep a message for `damage`; repeated messages are dropped."""
        with self._told_lock:
            if message not in self._told_once:
                self._told_once.add(message)
                if self._tell_at_once is None:
                    self._told.append(message)
                else:
                    self._tell_at_once(message)


def _bounded(docs: Documents) -> Documents:
    fewer = bounded(docs.questions)
    return docs if fewer is docs.questions else docs.replacing(questions=fewer)
