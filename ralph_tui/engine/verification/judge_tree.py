"""Keep trees of the snapshot store in directories outside the project, for checks and reviewers.

A tree is moved from claim to claim, so only what differs is written. What git ignores is not copied: dependencies and
local settings that existed when the run began enter the tree read-only, and what was written since is output, of which
the tree has its own. In the sandbox, the tree is at the project's own path.
"""

import contextlib
import fcntl
import glob
import hashlib
import itertools
import os
import re
import shutil
import stat
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ralph_tui.domain.errors import SetupError, StoreError
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.engine.core.project_tree import is_source
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.vcs.git import Git
from ralph_tui.vcs.snapshots import AGENT_NOTES, EXCLUDED_DIRECTORIES, Content, SnapshotStore

_PACKAGES = frozenset({"node_modules", ".tox", ".nox", ".venv", "venv"})
_MANAGED = frozenset({".tox", ".nox"})
"""Environments that their tool writes to whenever it runs."""
_METADATA = ".egg-info"
"""What setuptools writes again at each build of an editable install."""
_BYTECODE = Path("/run/ralph-bytecode")
"""Where a sandboxed command finds the tree's own bytecode."""
_MOST_LOOKED_AT = 20_000
"""Nobody rebuilds a directory with more entries than this for each check."""
_MOST_FILES = 200
"""Single ignored files that enter a tree."""
_UNPARSABLE = b"<?php )\n"
"""A syntax error in every language that programs are written in."""
_NAMED_PATH = re.compile(r"[\w./@+-]*[\w@+-]/?")

Mount = tuple[Path, Path, bool]
"""A path, where the sandbox shows it, and whether a command may write to it."""


class PlacedTree:
    """A directory that holds one tree of the store at a time. Every method blocks."""

    def __init__(self, root: Path, kind: str, store: SnapshotStore | None = None) -> None:
        """Keep trees of the project at `root`; trees of one kind share a directory, one after the other."""
        self.project = root
        self.store = store or snapshots_of(root)
        self._kind = kind
        self._lock: weakref.finalize[[int], PlacedTree] | None = None
        self._opening = threading.Lock()
        self.place = Path()
        """The directory of the tree, its index and what belongs to it; empty before the first tree."""

    @property
    def root(self) -> Path:
        return self.place / "files" / (self.project.name or "project")

    def write(self, tree: str) -> None:
        """Put a tree into the directory.

        Raises:
            SetupError: Git is missing, or the disk is full.
        """
        self._open()
        try:
            self._move(tree)
        except SetupError:  # such as a directory that a check closed
            self._discard()
            self._move(tree)

    def new_directory(self) -> Path:
        """Return a new directory for reports. What a killed process leaves goes when the next one opens the tree."""
        with contextlib.suppress(OSError, StoreError):
            self._open()
        return Path(tempfile.mkdtemp(prefix=self._reports))

    @property
    def _reports(self) -> str:
        owner = hashlib.sha256(os.fsencode(self.place)).hexdigest()[:12]
        return f"ralph-report-{owner}-"  # only the process with the lock makes them

    def close(self) -> None:
        if self._lock is not None:
            self._lock()
            self._lock = None

    def _open(self) -> None:
        with self._opening:  # two claims of one message begin at once
            if self._lock is None:
                self._take_place()

    def _take_place(self) -> None:
        for number in itertools.count(1):
            self.place = mirror_of(self.project) / (
                f"{self._kind}-{number}" if number > 1 else self._kind
            )
            self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(self.place / "lock", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a killed process holds none
            except OSError:
                os.close(lock)
                continue
            self._lock = weakref.finalize(self, os.close, lock)
            break
        reports = Path(tempfile.gettempdir()).glob(f"{self._reports}*")
        for left in (*self.place.glob("discarded-*"), *reports):
            _remove(left)

    def _move(self, tree: str) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._git("read-tree", "--reset", "-u", tree)
        self._git("clean", "-ffdq")

    def _git(self, *words: str) -> str:
        index = {"GIT_INDEX_FILE": str(self.place / "index")}
        return self.store.git(*words, extra=index, work_tree=self.root)

    def _discard(self) -> None:
        (self.place / "index").unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            moved = (self.place / "files").rename(self.place / f"discarded-{os.urandom(4).hex()}")
            _remove(moved)


class JudgeTree(PlacedTree):
    """The tree in which a check is judged, with the person's environment and a repository of its own."""

    def __init__(self, root: Path, store: SnapshotStore | None = None) -> None:
        super().__init__(root, "judge", store)
        self.base = ""
        """The tree of the project when the run began."""
        self.mounts: tuple[Mount, ...] = ()
        self.left_out: tuple[str, ...] = ()
        """What no tree holds: too large, not readable, or a repository of its own."""
        self.told = False
        self._confined = False
        self._written = ""
        """The tree that the directory has."""
        self._since = 0
        self._environment: tuple[str, ...] = ()
        self.entered: list[str] = []
        """What git ignores and the tree has, such as `.env`."""

    def start(self) -> str:
        """Record what exists when the run begins, once; return its tree.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        if not self.base:
            self._since = clock()
            self.base = self.store.take()
            paths = (*self.store.ignored(), *self.store.left_out)
            kept = filter(self._is_environment, (path.rstrip("/") for path in paths))
            self._environment = tuple(dict.fromkeys(kept))
            unreadable = (p for p in self._environment if not self._readable(self.project / p))
            left_out = (path.rstrip("/") for path in self.store.left_out)
            self.left_out = tuple(dict.fromkeys((*left_out, *unreadable)))
        return self.base

    def write(self, tree: str, *, confined: bool = False) -> None:
        """Put a tree into the directory, and the person's environment around it.

        Args:
            confined: Whether the commands run in the sandbox, which shows the tree at the project's path.

        Raises:
            SetupError: Git is missing, or the disk is full.
        """
        self.start()
        self._open()
        self._confined = confined
        self._take_environment_out()
        super().write(tree)
        changed = self.store.differences(self._written, tree) if self._written else ()
        self.forget_bytecode((one.path for one in changed), self._bytecode, self.cwd)
        self._written = tree
        place = Path(os.path.realpath(self.project))
        mounts = [(self.root, place, True), *self._make_repository(place)]
        self._bytecode.mkdir(mode=0o700, exist_ok=True)
        mounts += [(self._bytecode, _BYTECODE, True), *self._bring_environment_in(place)]
        self.mounts = tuple(mounts) if confined else ()

    def forget_bytecode(self, changed: Iterable[str], place: Path | None, top: Path) -> None:
        """Remove the bytecode of changed sources: Python takes it for that of any file of the same second and size."""
        for path in (path for path in changed if place and path.endswith(".py")):
            kept = Path(f"{place}{os.path.realpath(top)}/{path}")
            for left in kept.parent.glob(f"{glob.escape(kept.stem)}.*.pyc"):
                left.unlink(missing_ok=True)

    @property
    def cwd(self) -> Path:
        return self.project if self._confined else self.root

    @property
    def _bytecode(self) -> Path:
        return self.place / "bytecode"

    def bytecode_here(self) -> Path | None:
        """Return where checks in place keep bytecode: Python would run the project's, which an agent can write, instead of the sources."""
        own = self.place / "bytecode-here"
        if self._lock is None:
            return None
        own.mkdir(mode=0o700, exist_ok=True)
        return own

    def command(self, text: str) -> str:
        if self._confined:
            return text
        return re.sub(rf"{re.escape(str(self.project))}(?![\w.-])", str(self.root), text)

    def variables(self, editable: Iterable[Path]) -> dict[str, str]:
        """Return the variables of a command in the tree; `editable` are the directories of editable installs."""
        venv = self.project / ".venv"
        # uv must not sync the environment: that would install the tree, or fail offline.
        found = {"UV_NO_SYNC": "1"} if venv.is_dir() and (self.project / "uv.lock").exists() else {}
        if self._confined:
            return found | {"PYTHONPYCACHEPREFIX": str(_BYTECODE)}
        found |= {"PYTHONPYCACHEPREFIX": str(self._bytecode), "PWD": str(self.root)}
        if venv.is_dir():
            found["UV_PROJECT_ENVIRONMENT"] = str(venv)
        paths = dict.fromkeys(
            str(self.root / path.relative_to(self.project))
            for path in editable
            if path.is_relative_to(self.project)
        )
        return found | ({"PYTHONPATH": ":".join(paths)} if paths else {})

    def broken(self, tree: str, breaks: Callable[[str], bool]) -> str:
        """Return a tree whose program sources cannot be parsed: a check that stays green there looks at none of them."""
        held, unparsable = self.store.contents(tree), self.store.put(_UNPARSABLE).object
        changed = {
            path: Content(old.mode, unparsable)
            for path, old in held.items()
            if old.mode.startswith("100") and breaks(path)
        }
        return self.store.tree_with(tree, changed) if changed else tree

    def missing(self, output: str) -> str:
        """Return the file of the project that the output names and the tree lacks, empty if there is none."""
        output = output.replace(f"{self.root}/", "").replace(f"{self.project}/", "")
        names: list[str] = _NAMED_PATH.findall(output)
        for path in dict.fromkeys(names):
            inside = not path.startswith("/") and ".." not in path.split("/")
            if inside and os.path.lexists(self.project / path) > os.path.lexists(self.root / path):
                return path
        return ""

    def written(self) -> tuple[str, ...]:
        """Return the files that git ignores and that were written since the run began; caches do not count."""
        paths = (path.rstrip("/") for path in self.store.ignored())
        return tuple(
            path
            for path in sorted(paths)
            if self._is_environment(path)
            and not (self.project / path / "CACHEDIR.TAG").exists()
            and not (path in self._environment and self._is_unchanged(self.project / path))
        )

    # The person's environment.

    def _is_environment(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if path.partition("/")[0] == ".ralph" or path in AGENT_NOTES:
            return False
        return name not in EXCLUDED_DIRECTORIES or _holds_packages(self.project / path)

    def _take_environment_out(self) -> None:
        listed = self.place / "entered"
        if not listed.is_file():
            return
        for path in os.fsdecode(listed.read_bytes()).split("\0"):
            target = self.root / path
            with contextlib.suppress(OSError):  # a directory in use, or gone
                if target.is_dir() and not target.is_symlink():
                    target.rmdir()
                elif path and (target.is_symlink() or not target.stat().st_size):
                    target.unlink()

    def _bring_environment_in(self, place: Path) -> Iterator[Mount]:
        chosen, files = list[str](), 0
        for path in self._environment:
            source = self.project / path
            if not (self._readable(source) and self._is_unchanged(source) and self._fits(path)):
                continue
            files += not source.is_dir()
            if files <= _MOST_FILES or source.is_dir():
                chosen.append(path)
        self.entered = chosen
        (self.place / "entered").write_bytes(os.fsencode("\0".join(chosen)))
        for path in chosen:
            source, target = self.project / path, self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                target.symlink_to(source.readlink())
            elif path.endswith(_METADATA):
                shutil.copytree(source, target, symlinks=True)
            elif not self._confined:
                target.symlink_to(
                    self._with_own_links(path) if source.name == "node_modules" else source
                )
            else:
                target.mkdir() if source.is_dir() else target.touch(mode=0o600)
                yield source, place / path, source.name in _MANAGED
                yield from self._own_caches(path, place)

    def _with_own_links(self, path: str) -> Path:
        """Return installed packages with links into the tree in place of those into the project, as workspaces have them."""
        source, own, top = self.project / path, self.place / "linked" / path, self.project.resolve()
        scopes = {p for p in source.glob("@*") if p.is_dir() and not p.is_symlink()}
        found = dict[Path, Path]()
        for one in (*source.iterdir(), *(p for scope in scopes for p in scope.iterdir())):
            to = one.resolve() if one.is_symlink() else one
            ours = to.is_relative_to(top) and not _PACKAGES.intersection(to.relative_to(top).parts)
            found[one] = self.root / to.relative_to(top) if ours else one
        if all(one == to for one, to in found.items()):
            return source
        _remove(own)
        own.mkdir(mode=0o700, parents=True)
        for one, to in sorted(found.items()):
            link = own / one.relative_to(source)
            link.mkdir() if one in scopes else link.symlink_to(to)
        return own

    def _fits(self, path: str) -> bool:
        target = self.root / path
        return not os.path.lexists(target) and not any(
            os.path.lexists(one) and (one.is_symlink() or not one.is_dir())
            for one in target.parents
            if one.is_relative_to(self.root)
        )

    def _own_caches(self, path: str, place: Path) -> Iterator[Mount]:
        if path.rpartition("/")[2] != "node_modules":
            return
        for entry in sorted(os.scandir(self.project / path), key=lambda entry: entry.name):
            cache = entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            if cache and entry.name != ".bin" and not Path(entry.path, "node_modules").exists():
                if not _written_since(Path(entry.path), self._since):
                    continue
                own = self.place / "caches" / path / entry.name
                own.mkdir(mode=0o700, parents=True, exist_ok=True)
                yield own, place / path / entry.name, True

    def _readable(self, source: Path) -> bool:
        return source.is_symlink() or os.access(source, os.R_OK)

    def _is_unchanged(self, source: Path) -> bool:
        try:
            info = source.lstat()
        except OSError:
            return False
        if stat.S_ISDIR(info.st_mode):
            return _holds_packages(source) or not _written_since(source, self._since)
        known = stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
        return known and info.st_ctime_ns <= self._since and not _is_compiled(source)

    # The tree's own repository.

    def _make_repository(self, place: Path) -> Iterator[Mount]:
        git, own = Git(self.project), self.root / ".git"
        asked = git.ask(
            "rev-parse", "--show-toplevel", "--show-object-format", "--git-path", "objects", "--git-path", "index",
            "--git-path", "info/exclude", "--git-path", "shallow", "--git-path", "HEAD",
        )  # fmt: skip
        if asked.returncode:
            return
        top, form, *paths = os.fsdecode(asked.stdout).splitlines()
        objects, index, exclude, shallow, head = (Path(self.project, path) for path in paths)
        if Path(top) != place:
            return
        if not (own / "HEAD").is_file():
            _remove(own)
            git.text("init", "-q", "--template=", f"--object-format={form}", str(self.root))
        for refs in (own / "refs", own / "index.lock"):
            _remove(refs)
        (own / "refs").mkdir()
        (own / "info").mkdir(exist_ok=True)
        _remove(own / "persons-objects")
        if not self._confined:
            (own / "persons-objects").symlink_to(objects.resolve())
        (own / "objects/info").mkdir(parents=True, exist_ok=True)
        (own / "objects/info/alternates").write_text("../persons-objects\n")
        refs_text = git.output("for-each-ref", "--format=%(objectname) %(refname)")
        (own / "packed-refs").write_bytes(refs_text)
        for source, target in (
            (head, "HEAD"), (index, "index"), (exclude, "info/exclude"), (shallow, "shallow"),
        ):  # fmt: skip
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(source, own / target)
        for shared in index.parent.glob("sharedindex.*"):
            shutil.copyfile(shared, own / shared.name)
        yield objects.resolve(), place / ".git/persons-objects", False


def clock() -> int:
    """Return the time that a file written now is given, in nanoseconds."""
    coarse = getattr(time, "CLOCK_REALTIME_COARSE", None)
    return time.time_ns() if coarse is None else time.clock_gettime_ns(coarse)


def _holds_packages(source: Path) -> bool:
    return source.name in _PACKAGES or os.path.isfile(source / "pyvenv.cfg")  # noqa: PTH113 - pathlib raises


def _written_since(top: Path, since: int) -> bool:
    left, seen = deque([top]), 0
    while left and seen < _MOST_LOOKED_AT:
        directory = left.popleft()
        with contextlib.suppress(OSError):
            entries = list(os.scandir(directory))
            names = {entry.name for entry in entries}
            seen += len(entries)
            if "CACHEDIR.TAG" in names:
                return True
            if "__pycache__" not in names and directory.lstat().st_ctime_ns > since:
                return True
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left += [Path(entry.path)] if entry.name != "__pycache__" else []
                elif entry.stat(follow_symlinks=False).st_ctime_ns > since:
                    return True
    return False


def _is_compiled(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            if b"\0" not in opened.read(1024):
                return False
        beside = (other for other in file.parent.iterdir() if other.stem == file.stem)
        return any(is_source(other.name) and other != file for other in beside)
    except OSError:
        return False


def _remove(directory: Path) -> None:
    if not directory.is_dir() or directory.is_symlink():
        directory.unlink(missing_ok=True)
        return
    for where, _, _ in os.walk(directory):
        with contextlib.suppress(OSError):
            for entry in os.scandir(where):
                if entry.is_dir(follow_symlinks=False):
                    Path(entry.path).chmod(0o700)
    shutil.rmtree(directory, ignore_errors=True)
