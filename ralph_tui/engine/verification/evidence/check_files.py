"""Compare the project's check files with the person's trusted originals.

The trusted state begins with the first attempt at the first task. What changes while no agent session runs is the
person's and becomes trusted; what a task changed becomes trusted when its claim was accepted.
"""

import ast
import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from ralph_tui.domain.base import Model
from ralph_tui.engine.verification.evidence.check_paths import (
    Watched,
    is_recipe,
    is_steering_file,
    is_test_file,
    shadows,
    walk,
)
from ralph_tui.engine.verification.evidence.python_environment import site_packages
from ralph_tui.engine.verification.evidence.runner_settings import steering_part, with_original
from ralph_tui.store.backup.check_store import CheckRecord, CheckStore, FileMark

MOST_BYTES = 8 * 1024 * 1024
"""Bytes. A larger file is identified by its size and times, and cannot be restored."""

_LARGE = "large-"


class CheckChanges(Model):
    """The differences between the check files and their trusted originals."""

    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """New files that may affect existing tests: runner settings, and files that shadow modules."""
    new_tests: tuple[str, ...] = ()
    """New files that only add tests."""

    def __bool__(self) -> bool:
        """Return whether the originals must run as well."""
        return bool(self.changed or self.deleted or self.added)

    @property
    def names(self) -> tuple[str, ...]:
        """Each changed file with what happened to it."""
        return (
            *(f"{path} (changed)" for path in self.changed),
            *(f"{path} (deleted)" for path in self.deleted),
            *(f"{path} (new)" for path in self.added),
        )

    def without(self, allowed: Iterable[str]) -> "CheckChanges":
        """Return the changes except the allowed ones."""
        gone = set(allowed)
        return self.model_copy(
            update={
                name: tuple(path for path in getattr(self, name) if path not in gone)
                for name in ("changed", "deleted", "added")
            }
        )


class CheckFiles:
    """The check files of one project. Every method blocks on the disk."""

    def __init__(self, root: Path, store: CheckStore | None = None, *, feature: str = "") -> None:
        """Track the check files of `root`; the originals go to `store`, outside the project.

        The tasks are those of `feature`; other features have tasks of the same names.
        """
        self._root = root
        self._store = store or CheckStore(root)
        self._marks: dict[str, tuple[tuple[int, ...], FileMark]] = {}
        self._feature = feature
        self._task_id = ""
        self._caches: list[str] = []
        self._trusted: frozenset[str] = frozenset()
        self._record: CheckRecord | None = None
        """The record as this process knows it; the one on disk is for the next process."""

    @property
    def store(self) -> CheckStore:
        """Where the originals are stored."""
        return self._store

    def begin(self, task_id: str, commands: Iterable[str], words: str = "") -> None:
        """Record the state before an agent session, and trust what the person changed since the last one.

        Without a task the session belongs to a phase that works on none.
        """
        self._task_id = task_id = self._known_as(task_id)
        watched = Watched(self._root, commands, words)
        now = self.scan(watched)
        before = self._known()
        if before.begun and before.left is None:  # a session that never ended
            self._drop_bytecode(before.since)
        record = self._with_persons_changes(before, now, watched)
        tasks = dict(record.tasks)
        if task_id and task_id not in tasks:
            tasks[task_id] = {p: m for p, m in now.items() if record.trusted.get(p) != m}
        self._keep(record.trusted)
        self._save(
            record.model_copy(
                update={"tasks": tasks, "left": None, "begun": True, "since": time.time_ns()}
            )
        )

    def end(self, commands: Iterable[str], words: str = "") -> None:
        """Record the state after an agent session: later differences are the person's."""
        watched = Watched(self._root, commands, words)
        record = self._known()
        now = self.scan(watched)
        self._drop_bytecode(record.since)
        self._save(record.model_copy(update={"left": now, "watched": tuple(watched.named)}))

    def changes(self, commands: Iterable[str], words: str = "") -> CheckChanges:
        """Return the differences to the originals; delete bytecode that the running session wrote."""
        watched = Watched(self._root, commands, words)
        now = self.scan(watched)
        record = self._known()
        if record.begun and record.left is None:
            self._drop_bytecode(record.since)
        trusted = self._with_persons_changes(record, now, watched).trusted
        self._trusted = frozenset(trusted)
        return self._compared(trusted, now)

    def accept(
        self, task_id: str, commands: Iterable[str], words: str = "", keep: Iterable[str] = ()
    ) -> None:
        """Trust what the task changed, because its claim was accepted.

        Args:
            task_id: The completed task.
            commands: The commands that check it.
            words: What the task says.
            keep: Paths whose originals stay trusted.
        """
        watched = Watched(self._root, commands, words)
        record = self._known()
        if not record.begun:
            return
        known = self._known_as(task_id)
        name = known if known in record.tasks else self._task_id  # it may have been renamed
        now, before, kept = self.scan(watched), record.tasks.get(name, {}), set(keep)
        trusted = dict(record.trusted)
        for path in {*now, *trusted}:
            mark = now.get(path)
            leftover = mark is not None and before.get(path) == mark
            if path not in kept and not leftover:
                _set(trusted, path, mark)
        self._keep(trusted)
        tasks = {other: marks for other, marks in record.tasks.items() if other != name}
        self._save(record.model_copy(update={"trusted": trusted, "tasks": tasks}))

    def trusted(self) -> frozenset[str]:
        """Return the files that the last comparison used; before the first task, all there are."""
        return self._trusted

    def signatures(self) -> dict[str, tuple[int, ...]]:
        """Return each file's times, size and inode as last seen; every write changes them."""
        return {path: signature for path, (signature, _) in self._marks.items()}

    def original(self, path: str) -> bytes | None:
        """Return the trusted content of a file, or None."""
        mark = self._known().trusted.get(path)
        return self._store.get(mark.digest) if mark is not None else None

    def restore(self, target: Path, changes: CheckChanges) -> None:
        """Restore the originals of changed files in `target`, a copy of the project, and remove new ones.

        Raises:
            LookupError: An original is gone.
        """
        trusted = self._known().trusted
        for path in changes.added:
            _remove(target / path)
        for path in (*changes.changed, *changes.deleted):
            mark = trusted[path]
            data = self._store.get(mark.digest)
            if data is None:
                raise LookupError(path)
            _place(target / path, mark, data)

    # Recording and comparing the state.

    def _known_as(self, task_id: str) -> str:
        """Return the name of a task in the record."""
        return f"{self._feature}/{task_id}" if self._feature and task_id else task_id

    def _known(self) -> CheckRecord:
        return self._record or self._store.load()

    def _save(self, record: CheckRecord) -> None:
        self._record = record
        self._store.save(record)
        self._store.save_marks(self._marks)

    def scan(self, watched: Watched) -> dict[str, FileMark]:
        """Return the current check files."""
        if not self._marks:
            self._marks = self._store.marks()
        found: dict[str, FileMark] = {}
        self._caches = []
        for path, entry in walk(self._root, watched, self._caches):
            if (mark := self._mark(path, Path(entry.path))) is not None:
                found[path] = mark
        record = self._known()
        # Also every known check file, even if nothing names it any more.
        for path in {*shadows(self._root), *record.trusted, *(record.left or ())}:
            if path not in found and (mark := self._mark(path, self._root / path)) is not None:
                found[path] = mark
        return found

    def _drop_bytecode(self, since: int) -> None:
        """Delete bytecode written since a session began, which Python would run instead of the sources."""
        runners = (
            site / name
            for site in site_packages(self._root)
            for name in ("pytest", "_pytest", "pluggy")
        )
        caches = [*self._caches, *(str(c) for r in runners for c in r.rglob("__pycache__"))]
        for cache in caches:
            with contextlib.suppress(OSError):
                for entry in list(os.scandir(cache)):
                    if entry.stat(follow_symlinks=False).st_ctime_ns >= since:
                        Path(entry.path).unlink()

    def _mark(self, path: str, file: Path) -> FileMark | None:
        try:
            info = file.lstat()
        except OSError:
            return None
        signature = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
        known = self._marks.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        mark = _read_mark(file, info)
        if mark is not None:
            self._marks[path] = (signature, mark)
        return mark

    def _with_persons_changes(
        self, record: CheckRecord, now: Mapping[str, FileMark], watched: Watched
    ) -> CheckRecord:
        """Return the record with everything trusted that changed while no session ran."""
        if not record.begun:
            return record.model_copy(update={"trusted": dict(now), "begun": True})
        trusted = dict(record.trusted)
        if record.left is not None:
            for path in {*now, *record.left}:
                if now.get(path) != record.left.get(path):
                    _set(trusted, path, now.get(path))
        for path in watched.named:  # of a new task: its current content
            if path not in record.watched and path in now and path not in trusted:
                trusted[path] = now[path]
        return record.model_copy(update={"trusted": trusted})

    def _compared(
        self, trusted: Mapping[str, FileMark], now: Mapping[str, FileMark]
    ) -> CheckChanges:
        changed = [
            p
            for p, m in now.items()
            if p in trusted and trusted[p] != m and self._differs(p, trusted[p])
        ]
        new = [path for path in now if path not in trusted]
        decisive = [path for path in new if self._decides(path)]
        return CheckChanges(
            changed=tuple(sorted(changed)),
            deleted=tuple(sorted(path for path in trusted if path not in now)),
            added=tuple(sorted(decisive)),
            new_tests=tuple(sorted({*new} - {*decisive})),
        )

    def _differs(self, path: str, mark: FileMark) -> bool:
        """Return whether the part that controls checks differs, not only the rest of a settings file."""
        original = self._store.get(mark.digest)
        if original is None or mark.link:
            return True
        name = path.rsplit("/", 1)[-1]
        try:
            current = (self._root / path).read_bytes()
        except OSError:
            return True
        if current == original:
            return (self._root / path).stat().st_mode & 0o111 != mark.mode & 0o111
        return steering_part(name, current) != steering_part(name, original)

    def _decides(self, path: str) -> bool:
        """Return whether a new file may change what existing tests do."""
        name = path.rsplit("/", 1)[-1]
        if is_recipe(name):
            return True
        if is_steering_file(path):
            return steering_part(name, _content(self._root / path)) not in (b"", b"{}")
        if name == "__init__.py":
            return bool(_content(self._root / path).strip())
        if path in set(shadows(self._root)) or self._hides_a_module(path):
            return True
        return (
            is_test_file(name)
            and name.endswith(".py")
            and not only_adds_tests(_content(self._root / path))
        )

    def _hides_a_module(self, path: str) -> bool:
        """Return whether a new helper beside tests shadows one of the project's modules."""
        name = path.rsplit("/", 1)[-1]
        if not name.endswith(".py") or is_test_file(name):
            return False
        stem = name.removesuffix(".py")
        return any(
            (base / f"{stem}.py").is_file() or (base / stem / "__init__.py").is_file()
            for base in (self._root, self._root / "src")
            if base / name != self._root / path
        )

    def _keep(self, trusted: Mapping[str, FileMark]) -> None:
        for path, mark in trusted.items():
            if not mark.digest.startswith(_LARGE) and not self._store.has(mark.digest):
                self._store.put(mark.digest, _raw(self._root / path))


def only_adds_tests(source: bytes) -> bool:
    """Return whether a Python test file leaves its imported modules unchanged, as far as its text shows."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    modules = {
        alias.asname or alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return not any(_reaches_out(node, modules) for node in ast.walk(tree))


_REACHING = frozenset(
    {"exec", "eval", "setattr", "delattr", "__import__", "globals", "vars", "compile"}
)
_INSIDE = frozenset(
    {
        "modules",
        "__dict__",
        "__code__",
        "__globals__",
        "__class__",
        "_exit",
        "meta_path",
        "settrace",
    }
)


def _reaches_out(node: ast.AST, modules: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        stored = not isinstance(node.ctx, ast.Load) and _base(node) in modules
        return stored or node.attr in _INSIDE
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load) and _base(node) in modules
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in _REACHING
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        return any(
            name.split(".")[0] in {"_pytest", "pluggy", "gc", "ctypes", "atexit"} for name in names
        )
    return False


def _base(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _set(marks: dict[str, FileMark], path: str, mark: FileMark | None) -> None:
    if mark is None:
        marks.pop(path, None)
    else:
        marks[path] = mark


def _read_mark(file: Path, info: os.stat_result) -> FileMark | None:
    try:
        if stat.S_ISLNK(info.st_mode):
            digest = hashlib.sha256(os.fsencode(file.readlink())).hexdigest()
            return FileMark(digest=digest, mode=0, link=True)
        if not stat.S_ISREG(info.st_mode):
            return None
        if info.st_size > MOST_BYTES:
            told = f"{info.st_size} {info.st_mtime_ns}".encode()
            return FileMark(
                digest=_LARGE + hashlib.sha256(told).hexdigest(), mode=info.st_mode & 0o777
            )
        return FileMark(
            digest=hashlib.sha256(file.read_bytes()).hexdigest(), mode=info.st_mode & 0o777
        )
    except OSError:
        return None


def _raw(file: Path) -> bytes:
    return os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()[:MOST_BYTES]
    except OSError:
        return b""


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _place(target: Path, mark: FileMark, original: bytes) -> None:
    """Write an original; for a settings file, restore only the part that controls checks."""
    target.parent.mkdir(parents=True, exist_ok=True)
    data = original
    if not mark.link and target.is_file() and not target.is_symlink():
        data = with_original(target.name, target.read_bytes(), original)
    target.unlink(missing_ok=True)
    if mark.link:
        target.symlink_to(os.fsdecode(original))
        return
    target.write_bytes(data)
    target.chmod(mark.mode)
