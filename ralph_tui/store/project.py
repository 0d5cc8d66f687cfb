"""Access a project's `.ralph/`: load a snapshot, change it in a transaction, and write the text files beside it."""

import base64
import binascii
import os
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import bounded
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Injection, Phase, SessionRecord
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store import project_dir, text_files
from ralph_tui.store.backup import mirror
from ralph_tui.store.documents.documents import Documents, Outcome, Returning
from ralph_tui.store.documents.snapshot import Snapshots
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
    from ralph_tui.store.backup.completion_book import CompletionBook
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

    Returns:
        The file, or None when the data is not a picture or is larger than `MAX_BYTES`.
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
"""How often the archive is cleaned. A long run archives thousands of memories, and checking them takes seconds."""

__all__ = ["Documents", "Outcome", "Project"]


class Project:
    """A project on disk. The object is cheap to create and safe to share between threads. Every call blocks."""

    def __init__(
        self,
        root: Path,
        feature: str | None = None,
        *,
        clock: Callable[[], datetime] = utc_now,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Open a feature of the project at `root` without creating anything.

        Args:
            feature: The feature's name; empty for the plan without a name, None for the feature that this
                process works on.
            clock: Returns the time, in UTC.
            tell: Receives each message at once, instead of `damage` returning it later.
        """
        self._on_message = tell
        self.root = Path(os.path.realpath(root))
        self.layout = layout_of(self.root) if feature is None else Layout(self.root, feature)
        self._clock = clock
        self._damage: list[str] = []
        self._reported: set[str] = set()
        self._undone: list[str] = []
        self._messages_lock = threading.Lock()
        self._cleaned_at: datetime | None = None
        self._was_there = False
        self._mirror = mirror.Mirror(self.layout, self._report, self._add_undone, clock)
        self._snapshots = Snapshots(self.layout, clock, self._report, self._mirror)

    @cached_property
    def receipts(self) -> "CompletionBook":
        from ralph_tui.store.backup.completion_book import CompletionBook

        return CompletionBook(self.layout)

    @classmethod
    def find(cls, start: Path, feature: str | None = None) -> Self:
        """Return the project that contains `start`: the nearest directory above it with a `.ralph`.

        `feature` is as in `Project`.
        """
        here = start.resolve()
        for directory in upwards(here):
            if (lost := mirror.missing_state(directory)) is not None:
                raise lost
            if os.path.lexists(Layout(directory).dot):
                return cls(directory, feature)
        raise StoreError(
            f"No ralph project in {here} or above it.",
            "Run `ralph init` in your project. To see how ralph works, run `ralph demo`.",
        )

    def create(self) -> None:
        if not os.path.lexists(self.layout.dot) or mirror.missing_state(self.root):
            self._mirror.renew()
        project_dir.make(self.layout)

    def load(self) -> Documents:
        """Return a snapshot of all documents, with defaults for missing ones."""
        self._require_dot()
        return self._snapshots.load().documents

    def look(self) -> Documents:
        """Return a snapshot without reporting an invalid document; of such a plan, show the last valid version."""
        self._require_dot()
        return self._snapshots.load(is_look=True).documents

    def transact(self, change: Callable[[Documents], Documents]) -> Documents:
        """Change documents atomically, isolated from other processes.

        Args:
            change: A pure function. It is called again when a person edits a file at the same moment.
                If it raises, nothing is written.

        Returns:
            The documents as they are on disk now.

        Raises:
            StoreError: The lock, the disk or a document prevents the change; nothing was changed.
        """
        return self.transact_moving(change, ())

    def transact_returning(self, change: Callable[[Documents], Outcome[T]]) -> Outcome[T]:
        returning = Returning(change)
        documents = self.transact(returning)
        return Outcome(documents, returning.value)

    def transact_moving(
        self, change: Callable[[Documents], Documents], moves: "tuple[Move, ...]"
    ) -> Documents:
        """Change documents as `transact` does, and rename directories in the same step."""
        self._require_dot()
        with write_lock(self.layout):
            self._mirror.undo()
            return self._snapshots.transact(
                lambda docs: _with_bounded_questions(change(docs)), moves
            )

    def undo_agent_edits(self) -> None:
        if os.path.lexists(self.layout.dot) and self._mirror.differs():
            with write_lock(self.layout):
                self._mirror.undo()

    def undone(self) -> tuple[str, ...]:
        with self._messages_lock:
            undone, self._undone = tuple(self._undone), []
        return undone

    def damage(self) -> tuple[str, ...]:
        with self._messages_lock:
            damage, self._damage = tuple(self._damage), []
        return damage

    def queue_injection(self, guidance: str, by: str = "user", *, now: bool = False) -> Injection:
        injection = new_injection(guidance, by, self._clock()).model_copy(update={"now": now})
        self.transact(lambda d: d.replacing(pending=(*d.pending, injection)))
        return injection

    def append_learning(self, category: str, text: str) -> None:
        text_files.append_learning(self.layout, category, text, self._clock())

    def append_progress(self, progress: "Progress", plan: "ImplementationPlan") -> None:
        name = self.layout.feature or plan.title or self.root.name
        text_files.append_progress(self.layout, progress, plan, name)

    def read_learnings(self, limit: int) -> tuple[str, ...]:
        return text_files.read_learnings(self.layout, limit)

    def all_learnings(self) -> tuple[str, ...]:
        return text_files.all_learnings(self.layout)

    def compact_learnings(self, replaced: Sequence[str], replacements: Sequence[str]) -> Path:
        """Replace the learnings `replaced` by `replacements`; return the path of a copy of the old log."""
        return text_files.compact_learnings(self.layout, replaced, replacements, self._clock())

    def write_memory(self, text: str) -> Path:
        return text_files.write_text(self.layout.memory, text, mode=text_files.PROJECT_MODE)

    def read_memory(self) -> str:
        return self.read_text(self.layout.memory, text_files.TAIL_BYTES)

    def handoff(self) -> tuple[str, datetime | None]:
        """Return the hand-off of the last session and when ralph or the person wrote it."""
        try:
            written = datetime.fromtimestamp(self.layout.memory.stat().st_mtime, UTC)
        except (OSError, OverflowError, ValueError):
            written = None
        return self.read_memory(), written

    def write_active_memory(self, text: str) -> Path:
        self._require_dot()
        return text_files.write_text(self.layout.active_memory, text)

    def write_iteration_memory(self, iteration: int, text: str) -> Path:
        return self._write_numbered(
            self.layout.memory_iterations, "iter", iteration, text, text_files.KEPT_ITERATIONS
        )

    def mark_undone(self, task_id: str, iterations: Sequence[int]) -> None:
        """Say in the memory and in the progress log that a person undid these iterations."""
        for number in iterations:
            path = self.layout.memory_iterations / f"iter-{number:03d}.md"
            if path.is_file():
                self.write_iteration_memory(
                    number,
                    f"# Iteration {number}\n\n- Task: {one_line(task_id, 120)}\n- Outcome: undone by the person. "
                    "The files are as they were before this iteration.\n",
                )
        which = ", ".join(map(str, iterations))
        self.append_learning(
            "undone",
            f"The person undid {task_id} (iterations {which}). The files are as they were before it.",
        )

    def write_session_memory(self, number: int, text: str) -> Path:
        return self._write_numbered(
            self.layout.memory_sessions, "session", number, text, text_files.KEPT_SESSIONS
        )

    def write_phase_memory(self, phase: Phase, text: str) -> Path:
        self._require_dot()
        return text_files.write_text(self.layout.memory_phases / f"{phase.value}.md", text)

    def old_memories(self) -> tuple[Path, ...]:
        return text_files.old_archived(self.layout.memory_archive, self._clock())

    def clean_archive(self) -> tuple[Path, ...]:
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
        return self.read_text(
            self.layout.memory_phases / f"{phase.value}.md", text_files.TAIL_BYTES
        )

    def read_specs(self) -> tuple["Spec", ...]:
        return text_files.read_specs(self.layout)

    def request_specs(self) -> tuple["Spec", ...]:
        from ralph_tui.domain.documents.specs import counting

        state = self.look().state
        return counting(self.read_specs(), {*state.specs, *state.chosen_specs})

    def write_report(self, report: "ValidationReport") -> Path:
        self._require_dot()
        text = json_text(report, indent=2) + "\n"
        self._write_guarded(self.layout.validation_report, text)
        return self.layout.validation_report

    def write_config(self, text: str) -> None:
        self._write_guarded(self.layout.config, text)

    def _write_guarded(self, path: Path, text: str) -> None:
        with write_lock(self.layout):
            self._mirror.intend({path: text.encode()})
            write_atomic(path, text.encode())
            self._mirror.sync({})

    def read_report(self) -> "ValidationReport | None":
        """Return the last validation report, or None when it is missing or unreadable. Reports an unreadable one."""
        from ralph_tui.domain.documents.validation_report import ValidationReport

        text = self.read_text(self.layout.validation_report, text_files.REPORT_BYTES)
        if not text:
            return None
        try:
            return ValidationReport.model_validate_json(text)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_context=False)[0]["msg"]
            self._report(f"{self.layout.validation_report} cannot be read: {problem}.")
            return None

    def write_picture(self, round_number: int, number: int, picture: "Picture") -> str | None:
        self._require_dot()
        path = write_picture(self.layout, round_number, number, picture)
        return str(path.relative_to(self.root)) if path else None

    def archive_plan(self) -> Path | None:
        self._require_dot()
        return text_files.archive_plan(self.layout, self._clock())

    def recent_iteration_memories(self, limit: int = 3) -> tuple[str, ...]:
        paths = text_files.numbered(self.layout.memory_iterations, "iter")
        recent = paths[-limit:] if limit > 0 else []
        return tuple(self.read_text(path, text_files.TAIL_BYTES) for path in recent)

    def archive_session(self, record: SessionRecord) -> None:
        self._require_dot()
        ended = {"ended_at": record.ended_at or self._clock(), "feature": self.layout.feature}
        text_files.archive_session(self.layout, record.model_copy(update=ended))

    def read_sessions(self) -> tuple[SessionRecord, ...]:
        """Return the ended sessions, oldest first. Unreadable lines are skipped and reported."""
        records, unreadable = text_files.read_sessions(self.layout)
        if unreadable:
            name = self.layout.sessions.name
            self._report(f"Skipped {unreadable} unreadable lines of {name}.")
        return records

    def read_text(self, path: Path, limit: int) -> str:
        """Return at most `limit` bytes of a text file, or an empty string when it is missing or outside the project."""
        return text_files.read_text(self.layout, path, limit)

    def log_path(self, name: str) -> Path:
        """Return the path of a log, and create the file so that only its owner can read it."""
        if not name or name.startswith(".") or any(c in name for c in "/\\\0\n"):
            raise StoreError(f"{name!r} is not a valid log name.", "Use a plain file name.")
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
        """Refuse unless `.ralph` is a directory inside the project. A missing one is never recreated."""
        # An editor may rename the plan before it writes, while this process works on it.
        is_there = self._was_there and os.path.lexists(self.layout.dot)
        if not is_there and (lost := mirror.missing_state(self.root)) is not None:
            raise lost
        project_dir.require(self.layout)
        self._was_there = True

    def _add_undone(self, message: str) -> None:
        with self._messages_lock:
            self._undone.append(message)

    def _report(self, message: str) -> None:
        with self._messages_lock:
            if message not in self._reported:
                self._reported.add(message)
                if self._on_message is None:
                    self._damage.append(message)
                else:
                    self._on_message(message)


def _with_bounded_questions(docs: Documents) -> Documents:
    fewer = bounded(docs.questions)
    return docs if fewer is docs.questions else docs.replacing(questions=fewer)
