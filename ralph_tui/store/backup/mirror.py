"""Keep a copy of the state outside the work tree, so that `git clean -fdx` loses nothing.

The copy is best effort: it is written after the documents and not synced, and a failure is only reported. Once a
loop has begun, the journal itself is stored there (see `journal_location`). Before that it has a hard link there.
"""

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store import project_dir
from ralph_tui.store.io.files import DamagedError, read_regular, replace_file
from ralph_tui.store.layout import Layout

FILE_LIMIT = 16 * 1024 * 1024
KEPT_SECONDS = 30 * 24 * 3600
"""Seconds for which the copy of a deleted or reset project is kept."""

ORIGIN = "project-path"
_NO_COPIES = frozenset({ORIGIN, "agent.json", "intent.json", "receipts.jsonl"})
"""Ralph's own files beside the copies."""

PREVIOUS = ".previous"
DOCUMENTS = (
    "state", "plan", "budget", "breaker", "questions", "steps", "injections", "config",
    "active_memory", "validation_report", "project",
)  # fmt: skip
BESIDE = ("memory", "progress", "agents_md")
"""Files in the work tree that ralph writes and people may not have committed."""


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory for the state of programs (XDG base directories)."""
    given = environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return Path(given)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise StoreError("Your home directory is not known.", "Set HOME.") from error


def is_copy(name: str) -> bool:
    return name not in _NO_COPIES and not name.startswith("events.jsonl")


def mirror_of(root: Path) -> Path:
    # Called about thirty times in every transaction.
    return _cached_path(root, os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME"))


@lru_cache(maxsize=64)
def _cached_path(root: Path, *_: str | None) -> Path:
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in root.name)[:40].lstrip(".")
    return state_home() / "ralph" / f"{name or 'project'}-{digest}"


def previous_of(root: Path) -> Path:
    directory = mirror_of(root)
    return directory.with_name(f"{directory.name}{PREVIOUS}")


def restore_previous_copy(root: Path) -> None:
    """Replace the current copy with the one made before the last reset, if there is one."""
    previous = previous_of(root)
    if previous.is_dir():
        directory = mirror_of(root)
        _remove(directory)
        previous.rename(directory)


class Mirror:
    """Keeps the copy of one project up to date."""

    def __init__(
        self,
        layout: Layout,
        report: Callable[[str], None],
        may_copy: Callable[[Path, bytes], bool] = lambda _, __: True,
    ) -> None:
        self._may_copy = may_copy
        self._layout = layout
        self._report = report
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._ready = False

    def sync(self) -> None:
        """Copy the changed files. Hold the write lock."""
        try:
            directory = mirror_of(self._layout.root)
            self._prepare(directory)
            for name, path in mirrored(self._layout):
                self._copy(path, directory / name, name)
            journal = directory / self._layout.events.name
            if not (journal.exists() or self._layout.events.is_symlink()):
                link_file(self._layout.events, journal)
        except (OSError, StoreError) as error:
            reason = error.message if isinstance(error, StoreError) else error.strerror or error
            self._report(
                f"Ralph cannot keep a copy of its state outside the project ({reason}). "
                "`git clean -fdx` would delete the state."
            )

    def renew(self) -> None:
        """Set aside the copy of an earlier project at the same path, before a new project begins."""
        try:
            directory = mirror_of(self._layout.root)
            if directory.is_dir():
                previous = previous_of(self._layout.root)
                _remove(previous)
                directory.rename(previous)
                os.utime(previous)  # the retention time starts now
        except (OSError, StoreError) as error:
            self._report(f"The copy of an earlier project could not be set aside: {error}.")

    def _prepare(self, directory: Path) -> None:
        if self._ready and directory.is_dir():
            return
        if not directory.is_dir():
            directory.parent.mkdir(mode=project_dir.PRIVATE, parents=True, exist_ok=True)
            _remove_old(directory.parent)
            directory.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
        self._seen.clear()
        replace_file(directory / ORIGIN, os.fsencode(self._layout.root))
        self._ready = True

    def _copy(self, path: Path, target: Path, name: str) -> None:
        try:
            info = path.stat()
        except OSError:
            return  # missing; the earlier copy stays
        signature = (info.st_mtime_ns, info.st_size, info.st_ino)
        if self._seen.get(name) == signature:
            return
        try:
            data = read_regular(path, limit=FILE_LIMIT)
        except (DamagedError, StoreError):
            return  # not a regular file or an unsafe link; its reader reports that
        if data is not None and self._may_copy(path, data):
            replace_file(target, data)
            self._seen[name] = signature


def mirrored(layout: Layout) -> Iterator[tuple[str, Path]]:
    """Yield each copied file with its name in the copy, where dashes replace the path separators."""
    paths: list[Path] = [getattr(layout, name) for name in (*DOCUMENTS, *BESIDE)]
    if layout.specs.is_dir():
        paths += sorted(path for path in layout.specs.glob("*.md") if path.is_file())[:100]
    for path in paths:
        yield copy_name(layout, path), path


@lru_cache(maxsize=256)  # each transaction asks for all of them
def copy_name(layout: Layout, path: Path) -> str:
    return "--".join(path.relative_to(layout.root).parts)


def set_aside(layout: Layout) -> bool:
    """Move the copies of one feature to those from before a reset; return whether there were any."""
    directory, previous = mirror_of(layout.root), previous_of(layout.root)
    before = f"{copy_name(layout, layout.home)}--"
    of_others = (f"{before}{layout.features.name}--", f"{before}{layout.project.name}")
    own = [
        path
        for path in directory.glob(f"{before}*")
        if path.name not in _KEPT_BY_RESET and not path.name.startswith(of_others)
    ]
    if own:
        previous.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
        replace_file(previous / ORIGIN, os.fsencode(layout.root))
    for path in own:
        path.replace(previous / path.name)
    return bool(own)


def rename_copies(before: Layout, after: Layout) -> None:
    """Rename the copies of a renamed feature. Files that cannot be renamed are copied again later."""
    try:
        directory, old = mirror_of(before.root), copy_name(before, before.home)
        for path in directory.glob(f"{old}--*"):
            path.replace(directory / f"{copy_name(after, after.home)}{path.name[len(old) :]}")
        work = directory / work_name(before.feature)
        if work.is_dir():
            work.rename(directory / work_name(after.feature))
    except (OSError, StoreError):
        return


def work_name(feature: str) -> str:
    """Return the name of the directory with a feature's snapshots, beside the copies.

    Each feature has its own, because iterations of different features have the same numbers.
    """
    return f"work.{feature}.git" if feature else "work.git"


_KEPT_BY_RESET = frozenset({ORIGIN, ".ralph--config.yaml", "AGENTS.md"})
"""Files that are copied even without work by ralph, and that a reset keeps."""


def has_work(root: Path) -> bool:
    """Return whether a project's copy contains anything that a reset removes."""
    try:
        with os.scandir(mirror_of(root)) as entries:
            return any(
                e.name not in _KEPT_BY_RESET and is_copy(e.name) and not e.name.endswith(".tmp")
                for e in entries
            )
    except (OSError, StoreError):
        return False


def copied_at(root: Path) -> datetime | None:
    """Return when the copy of the plan or state was last written, or None when there is no copy."""
    try:
        directory = mirror_of(root)
        times = [
            path.stat().st_mtime
            for name in ("state.json", "implementation_plan.json")
            if (path := directory / f".ralph--{name}").is_file()
        ]
    except (OSError, StoreError):
        return None
    return datetime.fromtimestamp(max(times), UTC) if times else None


def missing_state(root: Path) -> StoreError | None:
    """Return the error for a project whose `.ralph` is missing although a copy exists, else None."""
    since = copied_at(root)
    if since is None:
        return None
    return StoreError(
        f"{root / '.ralph'} is missing. Ralph has a copy of its state from {since:%Y-%m-%d %H:%M:%S} UTC.",
        "Restore the copy with `ralph restore`, or start over with `ralph init`.",
    )


def link_file(source: Path, target: Path) -> None:
    """Create a hard link to a file. Does nothing where that is impossible, such as across file systems."""
    try:
        info = source.stat()
    except OSError:
        return
    try:
        existing = target.stat()
    except OSError:
        existing = None
    if existing is not None and (existing.st_dev, existing.st_ino) == (info.st_dev, info.st_ino):
        return
    if existing is not None and existing.st_dev != info.st_dev:
        return
    target.unlink(missing_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        return


def _remove_old(home: Path) -> None:
    for directory in home.iterdir():
        try:
            root = (directory / ORIGIN).read_bytes()
            age = time.time() - directory.stat().st_mtime
        except OSError:
            continue
        lives = directory.suffix != PREVIOUS and Path(os.fsdecode(root)).is_dir()
        if age > KEPT_SECONDS and not lives:
            _remove(directory)


def _remove(directory: Path) -> None:
    import shutil  # rarely needed, and its import costs three milliseconds of each start

    shutil.rmtree(directory, ignore_errors=True)
