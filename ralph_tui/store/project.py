"""Access a project's `.ralph/`: load a snapshot, change it in a transaction, and write the text files beside it."""

import os
import threading
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import bounded
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Injection
from ralph_tui.store import project_dir
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
from ralph_tui.store.text_files import REPORT_BYTES, TextFiles

if TYPE_CHECKING:
    from ralph_tui.domain.documents.specs import Spec
    from ralph_tui.domain.documents.validation_report import ValidationReport
    from ralph_tui.store.backup.completion_book import CompletionBook
    from ralph_tui.store.documents.multi_file_commit import Move


T = TypeVar("T")

__all__ = ["Documents", "Outcome", "Project"]


class Project(TextFiles):
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
        layout = layout_of(self.root) if feature is None else Layout(self.root, feature)
        super().__init__(layout, clock)
        self._damage: list[str] = []
        self._reported: set[str] = set()
        self._undone: list[str] = []
        self._messages_lock = threading.Lock()
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
            write_atomic(path, text.encode())
            self._mirror.sync({}, {path: text.encode()})

    def read_report(self) -> "ValidationReport | None":
        """Return the last validation report, or None when it is missing or unreadable. Reports an unreadable one."""
        from ralph_tui.domain.documents.validation_report import ValidationReport

        text = self.read_text(self.layout.validation_report, REPORT_BYTES)
        if not text:
            return None
        try:
            return ValidationReport.model_validate_json(text)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_context=False)[0]["msg"]
            self._report(f"{self.layout.validation_report} cannot be read: {problem}.")
            return None

    def log_path(self, name: str) -> Path:
        """Return the path of a log, and create the file so that only its owner can read it."""
        if not name or name.startswith(".") or any(c in name for c in "/\\\0\n"):
            raise StoreError(f"{name!r} is not a valid log name.", "Use a plain file name.")
        path = self.layout.logs / name
        with explained("make", path):
            self.layout.logs.mkdir(mode=0o700, exist_ok=True)
            os.close(open_regular(path, os.O_WRONLY | os.O_CREAT))
        return path

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
