"""Keep a copy of the state outside the work tree, where an agent's commands cannot write.

`git clean -fdx` loses nothing, a damaged document has a last valid version, and what an agent changes is undone. The
copy is best effort: it is written after the documents and not synced, and a failure is only reported. Once
a loop has begun, the journal itself is stored there (see `journal_location`).
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
from ralph_tui.store.io.files import (
    DamagedError,
    file_signature,
    file_stamp,
    read_regular,
    replace_file,
    utc_now,
    write_atomic,
)
from ralph_tui.store.io.quarantine import forget_older
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import file_lock

FILE_LIMIT = 16 * 1024 * 1024
KEPT_SECONDS = 30 * 24 * 3600
"""Seconds for which the copy of a deleted or reset project is kept."""

ORIGIN = "project-path"
HOLD = "agent.lock"
PREVIOUS = ".previous"
_NOTHING: Mapping[Path, bytes] = {}
DOCUMENTS = ("state", "plan", "budget", "breaker", "questions", "steps", "project")
"""Documents with a model. The copy of each is its last valid version."""

GUARDED = (*DOCUMENTS, "injections", "config", "validation_report")
"""Documents that affect decisions: tasks and their status, approvals, answers, settings, limits and costs.

An agent may change no part of them. While a command runs, a person changes them with `ralph edit` or on the
screen.
"""

COPIED = (*GUARDED, "active_memory", "memory", "progress", "agents_md")
"""All copied files, with those in the work tree that ralph writes and people may not have committed."""

Signature = tuple[int, int, int]


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the directory for the state of programs (XDG base directories)."""
    given = environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return Path(given)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError as error:
        raise StoreError("Your home directory is not known.", "Set HOME.") from error


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


class Mirror:
    """Keeps the copy of one project, and undoes what an agent's commands change in its documents.

    A document that differs from its copy was changed by another program: by the person, unless something that the
    agent started can write there now (`DocumentHold`). Hold the write lock for every call except `differs`.
    """

    def __init__(
        self,
        layout: Layout,
        report: Callable[[str], None],
        undone: Callable[[str], None] = lambda _: None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Keep the copy of `layout`. `undone` receives a sentence for each change that is undone."""
        self._layout = layout
        self._report = report
        self._undone = undone
        self._clock = clock
        self._copies: dict[Path, tuple[Signature, bytes]] = {}
        self._seen: dict[Path, Signature] = {}
        self._documents = {layout.document(name) for name in DOCUMENTS}
        self._guarded = tuple(layout.document(name) for name in GUARDED)
        self._is_ready = False

    def sync(
        self, valid: Mapping[Path, bytes] | None = None, own: Mapping[Path, bytes] = _NOTHING
    ) -> None:
        """Copy what ralph wrote itself, and the changed files: of the documents their `valid` content, or what is there."""
        try:
            directory = mirror_of(self._layout.root)
            self._prepare(directory)
            for path in mirrored(self._layout):
                if path in own:
                    replace_file(copy_of(self._layout, path), own[path])
                elif valid is None or path not in self._documents:
                    self._copy_file(path)
                elif path in valid:
                    self._update(path, valid[path])
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

    def differs(self) -> bool:
        return any(self._changed())

    def undo(self) -> None:
        changed = list(self._changed())
        for path, data, copy in changed if changed and is_held(self._layout.root) else ():
            aside = ""
            if data:
                kept = path.with_name(f"{path.name}.refused-{file_stamp(self._clock())}")
                write_atomic(kept, data)
                forget_older(path, "refused")
                aside = f" The other version is kept as {kept.name}."
            write_atomic(path, copy)
            self._undone(
                f"{path.name} was changed while a command of the agent ran. Ralph restored its own copy."
                f"{aside} If you made this change, make it again with `ralph edit` or on the screen."
            )

    def _prepare(self, directory: Path) -> None:
        if self._is_ready and directory.is_dir():
            return
        if not directory.is_dir():
            directory.parent.mkdir(mode=project_dir.PRIVATE, parents=True, exist_ok=True)
            _remove_old(directory.parent)
            directory.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
        self._seen.clear()
        replace_file(directory / ORIGIN, os.fsencode(self._layout.root))
        self._is_ready = True

    def _copy_file(self, path: Path) -> None:
        try:
            signature = file_signature(path)
            if self._seen.get(path) == signature:
                return
            data = read_regular(path, limit=FILE_LIMIT)
        except (OSError, DamagedError, StoreError):
            return  # missing: the earlier copy stays. Of any other problem its reader reports
        if data is not None and self._update(path, data):
            self._seen[path] = signature

    def _update(self, path: Path, data: bytes) -> bool:
        """Write a changed copy, unless the content is the agent's; return whether the copy is now `data`."""
        known = self._copy(path)
        if known == data:
            return True
        if known is not None and path in self._guarded and is_held(self._layout.root):
            return False
        replace_file(copy_of(self._layout, path), data)
        return True

    def _changed(self) -> Iterator[tuple[Path, bytes | None, bytes]]:
        for path in self._guarded:
            copy = self._copy(path)
            if copy is None:
                continue
            try:
                data = read_regular(path)
            except (DamagedError, StoreError):
                data = None
            if data != copy:
                yield path, data, copy

    def _copy(self, path: Path) -> bytes | None:
        try:
            copy = copy_of(self._layout, path)
            signature = file_signature(copy)
            known = self._copies.get(path)
            if known is not None and known[0] == signature:
                return known[1]
            data = read_regular(copy)
        except (OSError, DamagedError, StoreError):
            return None
        if data is not None:
            self._copies[path] = (signature, data)
        return data


def is_held(root: Path) -> bool:
    """Return whether something that the agent started can write ralph's documents now."""
    from filelock import Timeout

    try:
        file_lock(mirror_of(root) / HOLD).acquire(timeout=0).lock.release()
    except Timeout:
        return True
    except (OSError, StoreError):
        pass
    return False


def mirrored(layout: Layout) -> Iterator[Path]:
    yield from map(layout.document, COPIED)
    if layout.specs.is_dir():
        yield from sorted(path for path in layout.specs.glob("*.md") if path.is_file())[:100]


@lru_cache(maxsize=256)  # each transaction asks for all of them
def copy_name(layout: Layout, path: Path) -> str:
    """Return the name of a file's copy, where dashes replace the path separators."""
    return "--".join(path.relative_to(layout.root).parts)


def copy_of(layout: Layout, path: Path) -> Path:
    return mirror_of(layout.root) / copy_name(layout, path)


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


_KEPT_BY_RESET = frozenset({ORIGIN, ".ralph--config.yaml", "AGENTS.md"})
"""Files that are copied even without work by ralph, and that a reset keeps."""


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
    """Return the error for a project without a state although a copy exists, perhaps an earlier project's; else None."""
    layout = Layout(root)
    own = (layout.plan, layout.state, layout.events, layout.project)
    since = None if any(map(os.path.lexists, own)) else copied_at(root)
    if since is None:
        return None
    lacks = "has no plan and no state" if os.path.lexists(layout.dot) else "is missing"
    return StoreError(
        f"{layout.dot} {lacks}. Ralph has a copy of its state from {since:%Y-%m-%d %H:%M:%S} UTC.",
        "Restore the copy with `ralph restore`, or start over with `ralph init`.",
    )


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
