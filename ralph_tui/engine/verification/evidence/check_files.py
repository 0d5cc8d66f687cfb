"""Compare the project's check files with the person's trusted originals.

The trusted state is recorded before the first attempt at the first task. A change while no agent session runs
is the person's and is trusted. A change by a task is trusted once its claim is accepted.
"""

import ast
import contextlib
import hashlib
import os
import re
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from ralph_tui.domain.base import Model
from ralph_tui.engine.verification.evidence.check_paths import (
    CheckInputs,
    declared_plugins,
    is_recipe,
    is_runner_settings,
    is_test_file,
    module_names,
    shadowing_modules,
    walk,
)
from ralph_tui.engine.verification.evidence.python_environment import (
    environment_faults,
    environment_state,
    site_packages,
)
from ralph_tui.engine.verification.evidence.settings_parts import (
    controlling_part,
    with_original_part,
)
from ralph_tui.store.backup.check_store import CheckRecord, CheckStore, FileMark

MOST_BYTES = 8 * 1024 * 1024
"""Bytes. A larger file cannot be restored."""

_LARGE = "large-"
_MOST_HASHED = 256 * 1024 * 1024
"""Bytes. The content of a larger file is not read."""

_MODULE_SUFFIXES = frozenset({"py", "so", "pyd", "pyc"})
_GO_EFFECTS = re.compile(
    rb"^func\s+(?:init|TestMain)\s*\(|^var\b[^\n]*=|^\s+[A-Za-z_][\w.]*\s*=[^=]|os\.Args|\bflag\.|go:linkname",
    re.MULTILINE,
)
"""What lets a Go test file affect other tests of its package."""


class CheckChanges(Model):
    """The differences between the check files and their trusted originals."""

    changed: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """New files that may affect existing tests, such as runner settings and files that shadow modules."""
    new_tests: tuple[str, ...] = ()
    """New files that only add tests."""

    def __bool__(self) -> bool:
        """Return whether the checks must also run with the originals."""
        return bool(self.changed or self.deleted or self.added)

    @property
    def names(self) -> tuple[str, ...]:
        """The path of each changed file, with the kind of change."""
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
    """Tracks the check files of one project. Every method blocks on the disk."""

    def __init__(self, root: Path, store: CheckStore | None = None, *, feature: str = "") -> None:
        """Track the check files of the tasks of `feature`; the originals go to `store`, outside the project."""
        self._root = root
        self.store = store or CheckStore(root)
        self._marks: dict[str, tuple[tuple[int, ...], FileMark]] = {}
        self._feature = feature
        self._task_id = ""
        self._caches: list[str] = []
        self._trusted: frozenset[str] = frozenset()
        self._judged: dict[str, FileMark] | None = None
        """The state at the last comparison in this session."""
        self._record: CheckRecord | None = None
        """The current record; the copy on disk is for the next process."""

    def begin(self, task_id: str, commands: Iterable[str], task_text: str = "") -> None:
        """Record the state before an agent session, and trust the person's changes since the last one.

        `task_id` is empty in a phase without tasks.
        """
        self._task_id = task_id = self._record_key(task_id)
        self._judged = None
        inputs = CheckInputs(self._root, commands, task_text)
        now = self.scan(inputs)
        before = self._current_record()
        if before.begun and before.left is None:  # a session that did not end
            self._delete_bytecode(before.since)
        record = self._with_persons_changes(before, now, inputs)
        tasks = dict(record.tasks)
        if task_id and task_id not in tasks:
            tasks[task_id] = {p: m for p, m in now.items() if record.trusted.get(p) != m}
        self._store_originals(record.trusted)
        self._save(
            record.model_copy(
                update={
                    "tasks": tasks,
                    "left": None,
                    "begun": True,
                    "since": time.time_ns(),
                    "started": before.started if before.begun else time.time_ns(),
                    "environment": before.environment
                    if before.begun
                    else environment_state(self._root),
                }
            )
        )

    def end(self, commands: Iterable[str], task_text: str = "") -> None:
        """Record the state after an agent session; later changes are the person's."""
        inputs = CheckInputs(self._root, commands, task_text)
        record = self._current_record()
        now, self._judged = self.scan(inputs), None
        self._delete_bytecode(record.since)
        self._save(record.model_copy(update={"left": now, "watched": tuple(inputs.named)}))

    def changes(self, commands: Iterable[str], task_text: str = "") -> CheckChanges:
        """Return the changes since the originals, and delete bytecode that the running session wrote."""
        inputs = CheckInputs(self._root, commands, task_text)
        now = self.scan(inputs)
        record = self._current_record()
        if record.begun and record.left is None:
            self._delete_bytecode(record.since)
        trusted = self._with_persons_changes(record, now, inputs).trusted
        self._trusted = frozenset(trusted)
        self._judged = now
        if (
            record.begun
        ):  # an accepted claim makes these the originals, whatever happens to the files meanwhile
            self._store_originals(now)
        return self._compare(trusted, now, inputs.included)

    def accept(self, task_id: str, commands: Iterable[str], task_text: str = "") -> None:
        """Trust the changes of a task that a claim showed, because it was accepted.

        What changed after the checks ran is not trusted.

        Args:
            task_id: The completed task.
            commands: The commands that check it.
            task_text: The text of the task.
        """
        inputs = CheckInputs(self._root, commands, task_text)
        record = self._current_record()
        if not record.begun:
            return
        known = self._record_key(task_id)
        name = known if known in record.tasks else self._task_id  # it may have been renamed
        now = self._judged if self._judged is not None else self.scan(inputs)
        before = record.tasks.get(name, {})
        trusted = dict(record.trusted)
        for path in {*now, *trusted}:
            mark = now.get(path)
            leftover = mark is not None and before.get(path) == mark
            if not leftover:
                _set_mark(trusted, path, mark)
        self._store_originals(trusted)
        tasks = {other: marks for other, marks in record.tasks.items() if other != name}
        self._save(record.model_copy(update={"trusted": trusted, "tasks": tasks}))

    def trusted(self) -> frozenset[str]:
        """Return the trusted files of the last comparison; before the first task, all check files."""
        return self._trusted

    def environment_faults(self) -> tuple[str, ...]:
        """Return the faults of the project's own Python environment since the first session."""
        record = self._current_record()
        return environment_faults(self._root, record.environment, record.started)

    def signatures(self) -> dict[str, tuple[int, ...]]:
        """Return each file's last known times, size and inode; every write changes them."""
        return {path: signature for path, (signature, _) in self._marks.items()}

    def original(self, path: str) -> bytes | None:
        """Return the trusted content of a file, or None."""
        mark = self._current_record().trusted.get(path)
        return self.store.get(mark.digest) if mark is not None else None

    def originals(self, paths: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """Return the original of each path as git keeps it: its mode, and its bytes.

        Of a settings file, only the part that controls checks is the original.

        Raises:
            LookupError: An original is no longer stored.
        """
        trusted = self._current_record().trusted
        found = {}
        for path in paths:
            mark = trusted[path]
            data = self.store.get(mark.digest)
            if data is None:
                raise LookupError(path)
            file = self._root / path
            if mark.link:
                found[path] = "120000", data
                continue
            if file.is_file() and not file.is_symlink() and not self._is_behind_link(path):
                data = with_original_part(file.name, file.read_bytes(), data)
            found[path] = ("100755" if mark.mode & 0o111 else "100644"), data
        return found

    # Recording and comparing the state.

    def _record_key(self, task_id: str) -> str:
        return f"{self._feature}/{task_id}" if self._feature and task_id else task_id

    def _current_record(self) -> CheckRecord:
        return self._record or self.store.load()

    def _save(self, record: CheckRecord) -> None:
        self._record = record
        self.store.save(record)
        self.store.save_marks(self._marks)

    def scan(self, inputs: CheckInputs) -> dict[str, FileMark]:
        """Return the current check files."""
        if not self._marks:
            self._marks = self.store.marks()
        found: dict[str, FileMark] = {}
        self._caches = []
        for path, file in walk(self._root, inputs, self._caches):
            if (mark := self._mark(path, Path(file))) is not None:
                found[path] = mark
        record = self._current_record()
        # Also every known check file, even if no command names it any more.
        for path in {*self._shadowing(), *record.trusted, *(record.left or ())}:
            if path in found or self._is_behind_link(path):
                continue
            if (mark := self._mark(path, self._root / path)) is not None:
                found[path] = mark
        # What settings name may be a helper of the tests; what the task names is the work.
        for path in declared_plugins(self._root, found, offered=False):
            if path in found or not inputs.checks(path):
                continue
            if (mark := self._mark(path, self._root / path)) is not None:
                found[path] = mark
        return found

    def _shadowing(self) -> Iterator[str]:
        """Yield the modules that shadow others, unless the project has always had modules of these names."""
        return shadowing_modules(self._root, self._current_record().modules)

    def _is_behind_link(self, path: str) -> bool:
        """Return whether a directory of a path is a link, so that the file is in another place."""
        parents = Path(path).parents
        return any((self._root / parent).is_symlink() for parent in parents[:-1])

    def _delete_bytecode(self, since: int) -> None:
        """Delete bytecode written since a session began, because Python would run it instead of the sources."""
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
        self, record: CheckRecord, now: Mapping[str, FileMark], inputs: CheckInputs
    ) -> CheckRecord:
        if not record.begun:
            modules = module_names(self._root)
            return record.model_copy(
                update={"trusted": dict(now), "begun": True, "modules": modules}
            )
        trusted = dict(record.trusted)
        if record.left is not None:
            for path in {*now, *record.left}:
                if now.get(path) != record.left.get(path):
                    _set_mark(trusted, path, now.get(path))
        for path in inputs.named:  # files that a new task names are trusted as they are
            if path not in record.watched and path in now and path not in trusted:
                trusted[path] = now[path]
        return record.model_copy(update={"trusted": trusted})

    def _compare(
        self,
        trusted: Mapping[str, FileMark],
        now: Mapping[str, FileMark],
        included: Collection[str],
    ) -> CheckChanges:
        changed = [
            p
            for p, m in now.items()
            if p in trusted and trusted[p] != m and self._controlling_part_differs(p, trusted[p])
        ]
        new = [path for path in now if path not in trusted]
        decisive = [path for path in new if path in included or self._affects_tests(path)]
        return CheckChanges(
            changed=tuple(sorted(changed)),
            deleted=tuple(sorted(path for path in trusted if path not in now)),
            added=tuple(sorted(decisive)),
            new_tests=tuple(sorted({*new} - {*decisive})),
        )

    def _controlling_part_differs(self, path: str, mark: FileMark) -> bool:
        original = self.store.get(mark.digest)
        if original is None or mark.link:
            return True
        name = path.rsplit("/", 1)[-1]
        try:
            current = (self._root / path).read_bytes()
        except OSError:
            return True
        if (self._root / path).is_symlink():
            return True
        if current == original:
            return (self._root / path).stat().st_mode & 0o111 != mark.mode & 0o111
        return controlling_part(name, current) != controlling_part(name, original)

    def _affects_tests(self, path: str) -> bool:
        """Return whether a new file may affect existing tests."""
        name = path.rsplit("/", 1)[-1]
        if is_recipe(name):
            return True
        if is_runner_settings(path):
            return controlling_part(name, _content(self._root / path)) not in (b"", b"{}")
        if path in set(self._shadowing()) or self._shadows_module(path):
            return True
        if name == "__init__.py":
            return bool(_content(self._root / path).strip())
        if name.endswith(".py"):
            return not only_adds_tests(_content(self._root / path))
        if name.endswith("_test.go"):
            return _GO_EFFECTS.search(_content(self._root / path)) is not None
        return "__mocks__" in path.split("/")

    def _shadows_module(self, path: str) -> bool:
        file = self._root / path
        stem, dot, suffix = file.name.partition(".")
        if not dot or suffix.rpartition(".")[2] not in _MODULE_SUFFIXES:
            return False
        package = stem == "__init__"
        name, directory = (file.parent.name, file.parent.parent) if package else (stem, file.parent)
        own = {file, *([] if package else [directory / name / "__init__.py"])}
        places = [directory]
        if not is_test_file(file.name):
            places += [self._root, self._root / "src"]
        others = (
            other
            for place in places
            for other in (place / f"{name}.py", place / name / "__init__.py")
        )
        return any(other.is_file() for other in others if other not in own)

    def _store_originals(self, trusted: Mapping[str, FileMark]) -> None:
        for path, mark in trusted.items():
            if not mark.digest.startswith(_LARGE) and not self.store.has(mark.digest):
                with contextlib.suppress(
                    OSError
                ):  # gone meanwhile, such as an editor's temporary file
                    self.store.put(mark.digest, _raw_content(self._root / path))


def only_adds_tests(source: bytes) -> bool:
    """Return whether the source of a Python test file shows no changes to imported modules."""
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
    return not any(_changes_modules(node, modules) for node in ast.walk(tree))


_DYNAMIC_NAMES = frozenset({
    "exec", "eval", "setattr", "delattr", "__import__", "globals", "vars", "compile", "MonkeyPatch",
})  # fmt: skip
_INTERNALS = frozenset({
    "modules", "__dict__", "__code__", "__globals__", "__class__", "__defaults__", "__kwdefaults__", "__closure__",
    "__setattr__", "__delattr__", "__setitem__", "__enter__", "_exit", "meta_path", "path_hooks", "settrace",
    "setprofile", "MonkeyPatch", "enter_context", "start",
})  # fmt: skip
"""Attributes that change modules, or that begin a change which may last, such as `patch(…).start()`."""
_PATCHING = frozenset({"setattr", "delattr", "setitem", "delitem", "syspath_prepend"})
_MUTATING = frozenset(
    {"update", "append", "add", "insert", "extend", "pop", "clear", "remove", "setdefault"}
)


def _changes_modules(node: ast.AST, modules: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        stored = not isinstance(node.ctx, ast.Load) and _root_name(node) in modules
        return stored or node.attr in _INTERNALS
    if isinstance(node, ast.Subscript):
        return not isinstance(node.ctx, ast.Load) and _root_name(node) in modules
    if isinstance(node, ast.Name):
        return node.id in _DYNAMIC_NAMES
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and _lasts(node.func, modules)
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
        return any(
            name.split(".")[0] in {"_pytest", "pluggy", "gc", "ctypes", "atexit", "MonkeyPatch"}
            for name in names
        )
    return False


def _lasts(called: ast.Attribute, modules: set[str]) -> bool:
    if called.attr in _PATCHING:
        return not (isinstance(called.value, ast.Name) and called.value.id == "monkeypatch")
    return called.attr in _MUTATING and _root_name(called.value) in modules


def _root_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _set_mark(marks: dict[str, FileMark], path: str, mark: FileMark | None) -> None:
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
            return FileMark(digest=_LARGE + _large_digest(file, info), mode=info.st_mode & 0o777)
        return FileMark(
            digest=hashlib.sha256(file.read_bytes()).hexdigest(), mode=info.st_mode & 0o777
        )
    except OSError:
        return None


def _large_digest(file: Path, info: os.stat_result) -> str:
    if info.st_size > _MOST_HASHED:
        return hashlib.sha256(f"{info.st_size} {info.st_mtime_ns}".encode()).hexdigest()
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _raw_content(file: Path) -> bytes:
    return os.fsencode(file.readlink()) if file.is_symlink() else file.read_bytes()


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()[:MOST_BYTES]
    except OSError:
        return b""
