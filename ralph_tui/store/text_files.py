"""Read and write the text files beside the documents: learnings, memories, session history, specs."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store.io.files import (
    DamagedError,
    append_durable,
    explained,
    free_path,
    open_regular,
    read_regular,
    write_atomic,
)
from ralph_tui.store.io.rotation import keep_newest
from ralph_tui.store.io.strict_json import json_text, parse_object
from ralph_tui.store.layout import Layout

if TYPE_CHECKING:
    from ralph_tui.domain.documents.progress_log import Progress
    from ralph_tui.domain.documents.specs import Spec
    from ralph_tui.domain.plan.plan import ImplementationPlan

KEPT_ITERATIONS = 20
KEPT_SESSIONS = 10
KEPT_PLANS = 20
ARCHIVE_DAYS = 30

LEARNING_CHARS = 2000
TAIL_BYTES = 512 * 1024
REPORT_BYTES = 4 * 1024 * 1024
"""The maximum bytes read of a report. Ralph's own are far smaller."""

SPEC_BYTES = 200_000
MAX_SPECS = 100

PROJECT_MODE = 0o644
"""The mode of files in the work tree. Files in `.ralph` are private to the owner."""

_KEPT = {"iter": KEPT_ITERATIONS, "session": KEPT_SESSIONS}
CLEAN_EVERY = timedelta(hours=1)
"""How often the archive is cleaned. A long run archives thousands of memories, and checking them takes seconds."""

_NUMBER = re.compile(r"-(\d+)\.md$")


class TextFiles(ABC):
    """Reads and writes the text files of one feature."""

    def __init__(self, layout: Layout, clock: Callable[[], datetime]) -> None:
        self.layout = layout
        self._clock = clock
        self._cleaned_at: datetime | None = None

    @abstractmethod
    def _require_dot(self) -> None:
        """Refuse unless `.ralph` is a directory inside the project."""

    @abstractmethod
    def _report(self, message: str) -> None:
        """Tell the person, once."""

    # --- progress.txt

    def append_learning(self, category: str, text: str) -> None:
        label = one_line(category, 40).upper().replace(":", "") or "NOTE"
        line = f"[{self._clock():%Y-%m-%d %H:%M:%S}] {label}: {one_line(text, LEARNING_CHARS)}\n"
        append_durable(self.layout.progress, line.encode(), mode=PROJECT_MODE)

    def append_progress(self, progress: "Progress", plan: "ImplementationPlan") -> None:
        """Add the block of an iteration to progress.txt."""
        from ralph_tui.domain.documents.progress_log import (
            block,
            header,
            pending_commit_line,
            since_last_block,
        )

        path, name = self.layout.progress, self.layout.feature or plan.title
        log = _read_tail(self.layout, path)
        title = header(name or self.layout.root.name, progress.at)
        before = pending_commit_line(plan, log) if log else title
        text = before + block(progress, since_last_block(log.splitlines()))
        append_durable(path, text.encode("utf-8", "replace"), mode=PROJECT_MODE)

    def read_learnings(self, limit: int) -> tuple[str, ...]:
        """Return the last `limit` learnings at the end of progress.txt, newest last."""
        from ralph_tui.domain.documents.progress_log import learnings_in

        text = _read_tail(self.layout, self.layout.progress)
        return learnings_in(text.splitlines())[-limit:] if limit > 0 else ()

    def all_learnings(self) -> tuple[str, ...]:
        from ralph_tui.domain.documents.progress_log import learnings_in

        text = (read_regular(self.layout.progress) or b"").decode("utf-8", "replace")
        return learnings_in(text.splitlines())

    def compact_learnings(self, replaced: Sequence[str], replacements: Sequence[str]) -> Path:
        """Replace some learnings by others; return the path of a copy of the whole old log.

        The copy is written first, so that a later failure or crash loses nothing.
        """
        from ralph_tui.domain.documents.progress_log import compacted, learnings_in

        path = self.layout.progress
        before = read_regular(path) or b""
        lines = before.decode("utf-8", "replace").splitlines()
        if not set(replaced) <= set(learnings_in(lines)):
            raise StoreError(f"{path.name} changed during the compaction.", "Compact it again.")
        stem = f"progress-{self._clock():%Y%m%dT%H%M%S}"
        copy = free_path(self.layout.memory_archive, stem, ".txt")
        _write(copy, before)
        write_text(path, compacted(lines, replaced, replacements), mode=PROJECT_MODE)
        return copy

    def mark_undone(self, task_id: str, iterations: Sequence[int]) -> None:
        for number in iterations:
            if (self.layout.memory_iterations / f"iter-{number:03d}.md").is_file():
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

    # --- memory

    def write_memory(self, text: str) -> Path:
        return write_text(self.layout.memory, text, mode=PROJECT_MODE)

    def read_memory(self) -> str:
        return self.read_text(self.layout.memory, TAIL_BYTES)

    def handoff(self) -> tuple[str, datetime | None]:
        """Return the hand-off of the last session and when ralph or the person wrote it."""
        try:
            written = datetime.fromtimestamp(self.layout.memory.stat().st_mtime, UTC)
        except (OSError, OverflowError, ValueError):
            written = None
        return self.read_memory(), written

    def write_active_memory(self, text: str) -> Path:
        self._require_dot()
        return write_text(self.layout.active_memory, text)

    def write_phase_memory(self, phase: Phase, text: str) -> Path:
        self._require_dot()
        return write_text(self.layout.memory_phases / f"{phase.value}.md", text)

    def read_phase_memory(self, phase: Phase) -> str:
        return self.read_text(self.layout.memory_phases / f"{phase.value}.md", TAIL_BYTES)

    def write_iteration_memory(self, iteration: int, text: str) -> Path:
        return self._write_numbered(self.layout.memory_iterations, "iter", iteration, text)

    def write_session_memory(self, number: int, text: str) -> Path:
        return self._write_numbered(self.layout.memory_sessions, "session", number, text)

    def _write_numbered(self, directory: Path, stem: str, number: int, text: str) -> Path:
        self._require_dot()
        written = write_text(directory / f"{stem}-{number:03d}.md", text)
        self._rotate(directory, stem)
        now = self._clock()
        if self._cleaned_at is None or now - self._cleaned_at >= CLEAN_EVERY:
            self.clean_archive()
            self._cleaned_at = now
        return written

    def recent_iteration_memories(self, limit: int = 3) -> tuple[str, ...]:
        paths = _numbered(self.layout.memory_iterations, "iter")
        recent = paths[-limit:] if limit > 0 else []
        return tuple(self.read_text(path, TAIL_BYTES) for path in recent)

    def rotate_memories(self) -> tuple[Path, ...]:
        self._require_dot()
        sessions = self._rotate(self.layout.memory_sessions, "session")
        return (*self._rotate(self.layout.memory_iterations, "iter"), *sessions)

    def _rotate(self, directory: Path, stem: str) -> tuple[Path, ...]:
        archive = self.layout.memory_archive
        old = tuple(_numbered(directory, stem)[: -_KEPT[stem]])
        for path in old:
            with explained("archive", path):
                archive.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.replace(archive / path.name)
                os.utime(archive / path.name)  # the retention time starts now
        return old

    def old_memories(self) -> tuple[Path, ...]:
        before = self._clock().timestamp() - ARCHIVE_DAYS * 86_400
        files = (path for path in self.layout.memory_archive.glob("*.md") if path.is_file())
        return tuple(sorted(path for path in files if path.stat().st_mtime < before))

    def clean_archive(self) -> tuple[Path, ...]:
        self._require_dot()
        old = self.old_memories()
        for path in old:
            with explained("remove", path):
                path.unlink(missing_ok=True)
        return old

    # --- sessions, specs and plans

    def archive_session(self, record: SessionRecord) -> None:
        self._require_dot()
        ended = {"ended_at": record.ended_at or self._clock(), "feature": self.layout.feature}
        with explained("make the directory of", self.layout.sessions):
            self.layout.session_history.mkdir(mode=0o700, exist_ok=True)
        line = json_text(record.model_copy(update=ended)).encode() + b"\n"
        append_durable(self.layout.sessions, line)

    def read_sessions(self) -> tuple[SessionRecord, ...]:
        """Return the ended sessions, oldest first. Unreadable lines are skipped and reported."""
        path = self.layout.sessions
        try:
            lines = (read_regular(path) or b"").splitlines()
        except DamagedError as error:
            raise StoreError(f"{path} is {error}.", "Move it elsewhere.") from error
        records = [_session(line) for line in lines if line.strip()]
        good = tuple(record for record in records if record is not None)
        if len(good) < len(records):
            unreadable = len(records) - len(good)
            self._report(f"Skipped {unreadable} unreadable lines of {path.name}.")
        return good

    def read_text(self, path: Path, limit: int) -> str:
        return read_text(self.layout, path, limit)

    def read_specs(self) -> "tuple[Spec, ...]":
        """Return the Markdown files of `specs/`, sorted by name. Links that leave the project count as empty files."""
        from ralph_tui.domain.documents.specs import Spec

        specs = self.layout.specs
        if not specs.is_dir():
            return ()
        paths = sorted(path for path in specs.glob("*.md") if path.is_file())[:MAX_SPECS]
        folder = specs.relative_to(self.layout.root).as_posix()
        return tuple(
            Spec(name=p.name, text=self.read_text(p, SPEC_BYTES), folder=folder) for p in paths
        )

    def archive_plan(self) -> Path | None:
        """Copy the plan to the feature's `session_history/plan-TIME.json`, and keep only the newest copies.

        Returns the copy, or None without a plan.
        """
        self._require_dot()
        data = read_regular(self.layout.plan)
        if data is None:
            return None
        stem = f"plan-{self._clock():%Y%m%dT%H%M%S}"
        path = free_path(self.layout.kept_plans, stem, ".json")
        _write(path, data)
        keep_newest(path.parent, "plan-*.json", KEPT_PLANS)
        return path


def write_text(path: Path, text: str, *, mode: int = 0o600) -> Path:
    # A lone surrogate in model output, which UTF-8 cannot encode, becomes a question mark.
    return _write(path, text.encode("utf-8", "replace"), mode=mode)


def _write(path: Path, data: bytes, *, mode: int = 0o600) -> Path:
    with explained("make the directory of", path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, data, mode=mode)
    return path


def _numbered(directory: Path, stem: str) -> list[Path]:
    found = [
        (int(match[1]), path)
        for path in directory.glob(f"{stem}-*.md")
        if (match := _NUMBER.search(path.name))
    ]
    return [path for _, path in sorted(found)]


def _session(line: bytes) -> SessionRecord | None:
    try:
        return SessionRecord.model_validate(parse_object(line))
    except (DamagedError, ValidationError):
        return None


def read_text(layout: Layout, path: Path, limit: int) -> str:
    """Return at most `limit` bytes of a text file, or an empty string when it is missing or outside the project."""
    resolved = inside(layout.root, path)
    return "" if resolved is None else _read_slice(resolved, 0, limit)


def inside(root: Path, path: Path) -> Path | None:
    """Return the resolved path, or None when it is outside `root` or a circular link."""
    try:
        resolved = (root / path).resolve()
        return resolved if resolved.is_relative_to(root.resolve()) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _read_tail(layout: Layout, path: Path) -> str:
    resolved = inside(layout.root, path)
    if resolved is None or not resolved.is_file():
        return ""
    size = resolved.stat().st_size
    text = _read_slice(resolved, max(0, size - TAIL_BYTES), TAIL_BYTES)
    return text if size <= TAIL_BYTES else text.partition("\n")[2]


def _read_slice(path: Path, start: int, limit: int) -> str:
    if not path.is_file():
        return ""
    with explained("read", path):
        descriptor = open_regular(path, os.O_RDONLY)
        with os.fdopen(descriptor, "rb") as file:
            file.seek(start)
            data = file.read(limit)
    text = data.decode("utf-8-sig", "replace")
    # Drop a character that was cut in two at the limit.
    return text.rstrip("\N{REPLACEMENT CHARACTER}") if len(data) == limit else text


def keep_spec(layout: Layout, name: str, text: str) -> tuple[Path, bool]:
    """Write a new file in `specs/`, unless it exists with the same text; return its path and whether it is new."""
    path = layout.specs / name
    require_room_for_spec(layout, name, text)
    if os.path.lexists(path):
        return path, False
    with explained("make the directory", path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, text, mode=PROJECT_MODE), True


def require_room_for_spec(layout: Layout, name: str, text: str) -> None:
    path = layout.specs / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(layout.root)):
        raise StoreError(f"{path} leads outside the project.", "Remove the link.")
    if not os.path.lexists(path):
        return
    if read_text(layout, path, SPEC_BYTES) != text:
        shown = path.relative_to(layout.root)
        raise StoreError(
            f"{shown} already exists with other content.",
            "Rename the file, or make a plan from it with `ralph plan`.",
        )
