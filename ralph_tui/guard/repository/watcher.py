"""Looks at the repository before and after each session, so that no change goes unseen."""

import hashlib
import os
import stat
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.guard.repository.changes import (
    STAGE,
    Author,
    Change,
    Item,
    OwnCommit,
    Snapshot,
    compare,
    disturbing,
    with_commit,
)
from ralph_tui.guard.sandbox.environment import REFLOG_MARK

__all__ = [
    "Author",
    "Change",
    "Item",
    "OwnCommit",
    "RepositoryWatcher",
    "Snapshot",
    "compare",
    "disturbing",
    "with_commit",
]

_TIMEOUT_SECONDS = 60.0
_GITLINK = "160000"
"""The mode of a submodule in the index."""

_MOST_COMMITS = 20

_WHERE = ("--absolute-git-dir", "--git-common-dir", "--is-inside-git-dir")


_SETTLED_SECONDS = 2.0
"""How long a file must have been left alone before its times tell that it is the same."""

Stamp = tuple[int, ...] | None
"""What `lstat` says of a file, None where there is none. Of a directory, whose files are stamped, less."""


@dataclass(frozen=True)
class _Look:
    """What git said of the repository, and the stamps of every file it read to say so."""

    own: Path
    """Git's directory of this work tree; `common` is the one that all work trees share."""
    common: Path
    top: Path
    head: str
    refs: Mapping[str, str]
    index: Mapping[str, str]
    config: Mapping[str, tuple[str, ...]]
    worktrees: tuple[str, ...]
    stamps: Mapping[Path, Stamp]


class RepositoryWatcher:
    """Looks at the repository of a project; every call blocks.

    A look starts git only when a file that git would read has changed since the last look. The times of
    a file that was written a moment ago do not prove that it is the same, so git is asked again.
    """

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        """Look at the repository that `root` is in; the clock is the one of its files, in seconds."""
        self._root = root
        self._clock = clock
        self._last: _Look | None = None

    def snapshot(self) -> Snapshot | None:
        """Return the repository as it is now, or None when there is none or no git.

        Raises:
            SetupError: There is a repository, but git cannot read it.
        """
        look = self._look()
        if look is None:
            return None
        return Snapshot(
            head=look.head,
            above="" if look.top == self._root.resolve() else str(look.top),
            refs=look.refs,
            index=look.index,
            stash=_stashed(look.common),
            config=look.config,
            hooks=_hook_files(look.common),
            worktrees=look.worktrees,
            submodules=self._submodules(look.index, look.top),
            marked=_marked(look.own / "logs" / "HEAD"),
        )

    def follows(self, old: str, new: str) -> bool:
        """Return whether the commit `new` is built on `old`; False also where git cannot tell."""
        return self._ask("merge-base", "--is-ancestor", old, new).returncode == 0

    def commits(self, old: str, new: str) -> tuple[str, ...]:
        """Return the commits after `old` up to `new`, the newest first: the short hash and the subject."""
        span = f"{old}..{new}" if old else new
        said = self._git("log", "--format=%h %s", f"--max-count={_MOST_COMMITS}", span, "--")
        return tuple(one_line(line) for line in said.decode(errors="replace").splitlines())

    def _look(self) -> _Look | None:
        """Return what git says of the repository, without asking it again where nothing changed."""
        last, self._last = self._last, None
        if last is not None and self._stamps(last.own, last.common, last.top) == last.stamps:
            self._last = last
            return last
        if not _may_be_inside(self._root.resolve()):
            return None
        began = self._clock()
        try:
            found = self._ask("rev-parse", *_WHERE)
        except FileNotFoundError:
            return None
        if found.returncode:
            self._require_none(one_line(found.stderr.decode(errors="replace")))
            return None
        lines = found.stdout.decode(errors="surrogateescape").splitlines()
        own, common = (self._root / line for line in lines[:2])
        if lines[2] == "true":
            raise SetupError(
                f"{self._root} is inside of git's own directory {own}, or a bare repository.",
                "Run in a work tree: `git clone` or `git worktree add` makes one.",
            )
        top = Path(
            os.fsdecode(self._git("rev-parse", "--show-toplevel").removesuffix(b"\n")) or self._root
        )
        stamps = self._stamps(own, common, top)
        look = _Look(
            own=own,
            common=common,
            top=top,
            head=self._head(),
            refs=self._refs(),
            index=self._index(top),
            config=self._config(common, own),
            worktrees=self._worktree_paths(),
            stamps=stamps,
        )
        if stamps and _settled(stamps, began):
            self._last = look
        return look

    def _stamps(self, own: Path, common: Path, top: Path) -> Mapping[Path, Stamp]:
        """Stamp every file that git reads for a look; empty where they cannot all be known."""
        root = self._root.resolve()
        above = [d for d in (root, *root.parents) if d == top or top in d.parents]
        if not above or any(os.path.lexists(d / ".git") for d in above if d != top):
            return {}  # another directory may become the repository at any time
        paths = {top, *(d / ".git" for d in above)}
        for name in ("HEAD", "index", "commondir", "config.worktree"):
            paths.add(own / name)
        paths |= {common / "config", common / "packed-refs", common / "HEAD"}
        for directory in {own, common}:
            for folder in ("refs", "reftable"):
                paths |= {p for p in (directory / folder).rglob("*") if not p.is_dir()}
        paths |= {p / "gitdir" for p in (common / "worktrees").glob("*")}
        return {path: _stamp(path) for path in paths}

    def _require_none(self, said: str) -> None:
        """Accept that git finds no repository; any other reason is trouble.

        Raises:
            SetupError: There is one that git cannot read, such as another user's.
        """
        if "not a git repository (or any" not in said or (self._root / ".git").exists():
            raise SetupError(
                f"git cannot read the repository of {self._root}: {said.removeprefix('fatal: ')}",
                "Run `git status` there; it says why.",
            )

    def _head(self) -> str:
        symbolic = self._git("symbolic-ref", "-q", "HEAD", check=False).decode().strip()
        return symbolic or self._git("rev-parse", "HEAD").decode().strip()

    def _refs(self) -> dict[str, str]:
        lines = self._git("for-each-ref", "--format=%(objectname) %(refname)").decode(
            errors="surrogateescape"
        )
        pairs = (line.partition(" ") for line in lines.splitlines())
        return {name: commit for commit, _, name in pairs}

    def _index(self, top: Path) -> dict[str, str]:
        """Return tag, mode and object by path; a lower-case tag is a file git was told not to look at."""
        found: dict[str, str] = {}
        listed = self._git("ls-files", "-s", "-v", "-z", place=top)
        text = listed.decode(errors="surrogateescape")
        for line in text.split("\0"):
            about, _, path = line.partition("\t")
            words = about.split()
            if len(words) == 4:
                tag, mode, commit, stage = words
                key = path if stage == "0" else f"{path}{STAGE}{stage})"
                found[key] = f"{tag} {mode},{commit}"
        return found

    def _submodules(self, index: Mapping[str, str], top: Path) -> dict[str, tuple[str, str]]:
        """Return the HEAD of each submodule that is checked out."""
        heads: dict[str, tuple[str, str]] = {}
        for path, entry in index.items():
            place = top / path
            if f" {_GITLINK}," not in entry or not os.path.lexists(place / ".git"):
                continue
            asked = self._git("rev-parse", "HEAD", check=False, place=place)
            if not asked:
                continue
            commit = asked.decode(errors="surrogateescape").strip()
            branch = self._git("symbolic-ref", "-q", "HEAD", check=False, place=place)
            heads[path] = (branch.decode(errors="surrogateescape").strip(), commit)
        return heads

    def _config(self, common: Path, own: Path) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in (common / "config", own / "config.worktree"):
            if not file.is_file():
                continue
            text = self._git("config", "--file", str(file), "--list", "-z")
            for entry in text.decode(errors="surrogateescape").split("\0"):
                key, _, value = entry.partition("\n")
                if key:
                    found[key] = (*found.get(key, ()), value)
        return found

    def _worktree_paths(self) -> tuple[str, ...]:
        lines = self._git("worktree", "list", "--porcelain").decode(errors="surrogateescape")
        prefix = "worktree "
        return tuple(
            line.removeprefix(prefix) for line in lines.splitlines() if line.startswith(prefix)
        )

    def _git(self, *arguments: str, check: bool = True, place: Path | None = None) -> bytes:
        done = self._ask(*arguments, place=place)
        if done.returncode and check:
            said = one_line(done.stderr.decode(errors="replace"))
            raise SetupError(f"`git {arguments[0]}` failed: {said}", "Run `git status` there.")
        return b"" if done.returncode else done.stdout

    def _ask(
        self, *arguments: str, place: Path | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        # Settings of the repository may name programs to run; reading must start none of them.
        quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return subprocess.run(
                ["git", *quiet, *arguments],
                cwd=place or self._root,
                env=kept | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SetupError(
                f"`git {arguments[0]}` did not end within {_TIMEOUT_SECONDS:.0f} seconds.",
                "Run it in the project to see why.",
            ) from error


def _may_be_inside(directory: Path) -> bool:
    """Tell whether git could find a repository from here: a `.git`, or a bare one, here or above."""
    return any(
        os.path.lexists(d / ".git")
        or (os.path.lexists(d / "HEAD") and os.path.lexists(d / "objects"))
        for d in (directory, *directory.parents)
    )


def _stamp(path: Path) -> Stamp:
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            info = path.stat()
    except OSError:
        return None
    if stat.S_ISDIR(info.st_mode):
        return (info.st_mode, info.st_dev, info.st_ino, info.st_uid)
    # Nobody can set the time of the last change of a file's data and attributes back, unlike the others.
    times = (info.st_mtime_ns, info.st_ctime_ns)
    return (info.st_mode, info.st_dev, info.st_ino, info.st_uid, info.st_size, *times)


def _settled(stamps: Mapping[Path, Stamp], began: float) -> bool:
    """Tell whether all these files were left alone for a while before the look began."""
    before = int((began - _SETTLED_SECONDS) * 1e9)
    return all(max(s[-2:]) < before for s in stamps.values() if s is not None and len(s) > 4)


def _stashed(common: Path) -> tuple[str, ...]:
    """List the stashed commits, oldest first; a stash is nothing but the reflog of one reference."""
    return tuple(
        line.split(b" ")[1].decode() for line in _reflog(common / "logs" / "refs" / "stash")
    )


def _marked(log: Path) -> frozenset[str]:
    mark = f"\t{REFLOG_MARK}".encode()
    return frozenset(line.split(b" ")[1].decode() for line in _reflog(log) if mark in line)


def _reflog(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().splitlines() if line.count(b" ") > 1]
    except OSError:  # no such log, or none at all in this repository
        return []


def _hook_files(common: Path) -> dict[str, str]:
    directory = common / "hooks"
    found: dict[str, str] = {}
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        info = path.lstat()
        content = b""
        if stat.S_ISLNK(info.st_mode):
            content = str(path.readlink()).encode(errors="surrogateescape")
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        found[path.name] = f"{info.st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found
