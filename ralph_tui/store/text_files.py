"""Read and write the text files beside the documents: learnings, memories, session history, specs."""

import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import SessionRecord
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
from ralph_tui.store.io.rotation import keep_newest, make_room, older, read_grown
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

PROJECT_MODE = 0o644
"""The mode of files in the work tree. Files in `.ralph` are private to the owner."""

_NUMBER = re.compile(r"-(\d+)\.md$")


def append_learning(layout: Layout, category: str, text: str, now: datetime) -> None:
    """Add one line to progress.txt. A full file becomes `progress.txt.1`."""
    label = one_line(category, 40).upper().replace(":", "") or "NOTE"
    line = f"[{now:%Y-%m-%d %H:%M:%S}] {label}: {one_line(text, LEARNING_CHARS)}\n"
    make_room(layout.progress)
    append_durable(layout.progress, line.encode(), mode=PROJECT_MODE)


def append_progress(
    layout: Layout, progress: "Progress", plan: "ImplementationPlan", name: str
) -> None:
    """Add the block of an iteration to progress.txt. A full file becomes `progress.txt.1`."""
    from ralph_tui.domain.documents.progress_log import (
        block,
        header,
        pending_commit_line,
        since_last_block,
    )

    make_room(layout.progress)
    log = _read_tail(layout, layout.progress)
    before = pending_commit_line(plan, log) if log else header(name, progress.at)
    text = before + block(progress, since_last_block(log.splitlines()))
    append_durable(layout.progress, text.encode("utf-8", "replace"), mode=PROJECT_MODE)


def read_learnings(layout: Layout, limit: int) -> tuple[str, ...]:
    """Return the last `limit` learnings of progress.txt and its predecessor, newest last."""
    from ralph_tui.domain.documents.progress_log import learnings_in

    text = _read_tail(layout, layout.progress)
    if len(text.encode()) < TAIL_BYTES // 2:
        text = f"{_read_tail(layout, older(layout.progress))}\n{text}"
    return learnings_in(text.splitlines())[-limit:] if limit > 0 else ()


def all_learnings(layout: Layout) -> tuple[str, ...]:
    from ralph_tui.domain.documents.progress_log import learnings_in

    return learnings_in(read_grown(layout.progress).decode("utf-8", "replace").splitlines())


def compact_learnings(
    layout: Layout, replaced: Sequence[str], replacements: Sequence[str], now: datetime
) -> Path:
    """Replace some learnings by others; return the path of a copy of the whole old log.

    The copy is written first, so that a later failure or crash loses nothing.
    """
    from ralph_tui.domain.documents.progress_log import compacted, learnings_in

    before = read_grown(layout.progress)
    lines = before.decode("utf-8", "replace").splitlines()
    if not set(replaced) <= set(learnings_in(lines)):
        raise StoreError(
            f"{layout.progress.name} changed during the compaction.", "Compact it again."
        )
    copy = free_path(layout.memory_archive, f"progress-{now:%Y%m%dT%H%M%S}", ".txt")
    with explained("make the directory", copy.parent):
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(copy, before)
    write_text(layout.progress, compacted(lines, replaced, replacements), mode=PROJECT_MODE)
    with explained("remove", older(layout.progress)):
        older(layout.progress).unlink(missing_ok=True)
    return copy


def write_text(path: Path, text: str, *, mode: int = 0o600) -> Path:
    with explained("make the directory", path.parent):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    # A lone surrogate in model output, which UTF-8 cannot encode, becomes a question mark.
    write_atomic(path, text.encode("utf-8", "replace"), mode=mode)
    return path


def write_numbered(
    directory: Path, archive: Path, stem: str, number: int, text: str, *, keep: int
) -> Path:
    """Write `stem-NNN.md` and archive all but the newest memories of its kind."""
    written = write_text(directory / f"{stem}-{number:03d}.md", text)
    rotate(directory, archive, stem, keep)
    return written


def rotate(directory: Path, archive: Path, stem: str, keep: int) -> tuple[Path, ...]:
    """Archive all but the newest memories of a kind.

    Returns:
        The former paths of the archived files.
    """
    old = tuple(numbered(directory, stem)[:-keep])
    for path in old:
        with explained("archive", path):
            archive.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.replace(archive / path.name)
            os.utime(archive / path.name)  # the retention time starts now
    return old


def old_archived(archive: Path, now: datetime) -> tuple[Path, ...]:
    before = now.timestamp() - ARCHIVE_DAYS * 86_400
    files = (path for path in archive.glob("*.md") if path.is_file())
    return tuple(sorted(path for path in files if path.stat().st_mtime < before))


def clean_archive(archive: Path, now: datetime) -> tuple[Path, ...]:
    """Remove the memories that were archived more than `ARCHIVE_DAYS` ago; return their paths."""
    old = old_archived(archive, now)
    for path in old:
        with explained("remove", path):
            path.unlink(missing_ok=True)
    return old


def numbered(directory: Path, stem: str) -> list[Path]:
    found = [
        (int(match[1]), path)
        for path in directory.glob(f"{stem}-*.md")
        if (match := _NUMBER.search(path.name))
    ]
    return [path for _, path in sorted(found)]


def archive_session(layout: Layout, record: SessionRecord) -> None:
    with explained("make the directory of", layout.sessions):
        layout.session_history.mkdir(mode=0o700, exist_ok=True)
    make_room(layout.sessions)
    append_durable(layout.sessions, json_text(record).encode() + b"\n")


def read_sessions(layout: Layout) -> tuple[tuple[SessionRecord, ...], int]:
    """Return the session history, oldest first, and the number of unreadable lines."""
    try:
        lines = read_grown(layout.sessions).splitlines()
    except DamagedError as error:
        raise StoreError(f"{layout.sessions} is {error}.", "Move it elsewhere.") from error
    records = [_session(line) for line in lines if line.strip()]
    good = tuple(record for record in records if record is not None)
    return good, len(records) - len(good)


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


SPEC_BYTES = 200_000
MAX_SPECS = 100


def read_specs(layout: Layout) -> "tuple[Spec, ...]":
    """Return the Markdown files of `specs/`, sorted by name. Links that leave the project count as empty files."""
    from ralph_tui.domain.documents.specs import Spec

    if not layout.specs.is_dir():
        return ()
    paths = sorted(path for path in layout.specs.glob("*.md") if path.is_file())[:MAX_SPECS]
    folder = layout.specs.relative_to(layout.root).as_posix()
    return tuple(
        Spec(name=p.name, text=read_text(layout, p, SPEC_BYTES), folder=folder) for p in paths
    )


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
    """Refuse to write a file in `specs/` that exists with another text."""
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


def archive_plan(layout: Layout, now: datetime) -> Path | None:
    """Copy the plan to the feature's `session_history/plan-TIME.json`, and keep only the newest copies.

    Returns the copy, or None without a plan.
    """
    data = read_regular(layout.plan)
    if data is None:
        return None
    path = free_path(layout.kept_plans, f"plan-{now:%Y%m%dT%H%M%S}", ".json")
    with explained("make the directory of", path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, data)
    keep_newest(path.parent, "plan-*.json", KEPT_PLANS)
    return path
