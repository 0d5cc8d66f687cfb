"""Reads what is true of the repository: nothing prevents a change here, but none goes unseen."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.guard.repository.changes import (
    SLACK_SECONDS,
    STAGE,
    Author,
    Busy,
    Change,
    Item,
    Snapshot,
    compare,
    submodule_part,
)
from ralph_tui.guard.sandbox.environment import REFLOG_MARK

__all__ = ["SLACK_SECONDS", "Author", "Busy", "Change", "GitWatch", "Item", "Snapshot", "compare"]

TIMEOUT_SECONDS = 60.0
GITLINK = "160000"
"""The mode of a submodule in the index."""

_WHERE = ("--absolute-git-dir", "--git-common-dir", "--is-inside-git-dir")


class GitWatch:
    """Looks at the repository of a project; every call blocks."""

    def __init__(self, root: Path) -> None:
        """Look at the repository that `root` is in."""
        self._root = root

    def snapshot(self) -> Snapshot | None:
        """The repository now, or None when there is none or no git.

        Raises:
            SetupError: There is a repository, but git cannot read it.
        """
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
        refs = self._refs()
        index = self._index(top)
        submodules, moved = self._submodules(index, top)
        return Snapshot(
            head=self._head(),
            above="" if top == self._root.resolve() else str(top),
            refs=refs,
            index=index,
            stash=_stashed(common),
            config=self._config(common, own),
            hooks=_hook_files(common),
            worktrees=self._worktree_paths(),
            submodules=submodules,
            times=_times(own, common, refs) | moved,
            marked=_marked(own / "logs" / "HEAD"),
        )

    def _require_none(self, said: str) -> None:
        """Where git finds no repository there is none; any other reason is trouble.

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
        """Tag, mode and object by path; a lower-case tag is a file git was told not to look at."""
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

    def _submodules(
        self, index: Mapping[str, str], top: Path
    ) -> tuple[dict[str, tuple[str, str]], dict[str, float]]:
        """The HEAD of each submodule that is checked out, and when it was last moved."""
        heads: dict[str, tuple[str, str]] = {}
        times: dict[str, float] = {}
        for path, entry in index.items():
            place = top / path
            if f" {GITLINK}," not in entry or not os.path.lexists(place / ".git"):
                continue
            asked = self._git("rev-parse", "--absolute-git-dir", "HEAD", check=False, place=place)
            if not asked:
                continue
            directory, commit = asked.decode(errors="surrogateescape").splitlines()[:2]
            branch = self._git("symbolic-ref", "-q", "HEAD", check=False, place=place)
            heads[path] = (branch.decode(errors="surrogateescape").strip(), commit)
            time = _mtime(Path(directory) / "logs" / "HEAD") or _mtime(Path(directory) / "HEAD")
            if time is not None:
                times[submodule_part(path)] = time
        return heads, times

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
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SetupError(
                f"`git {arguments[0]}` did not end within {TIMEOUT_SECONDS:.0f} seconds.",
                "Run it in the project to see why.",
            ) from error


def _stashed(common: Path) -> tuple[str, ...]:
    """The stashed commits, oldest first; a stash is nothing but the reflog of one reference."""
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


def _times(own: Path, common: Path, refs: Mapping[str, str]) -> dict[str, float]:
    """When each part was last written, as far as files tell."""
    places = {
        "HEAD": own / "HEAD",
        "index": own / "index",
        "stash": common / "logs" / "refs" / "stash",
        "config": common / "config",
        "hooks": common / "hooks",
        "worktrees": common / "worktrees",
        **{ref: common / ref for ref in refs},
    }
    found = {part: time for part, path in places.items() if (time := _mtime(path)) is not None}
    packed = _mtime(common / "packed-refs")
    if packed is not None:
        found |= {ref: packed for ref in refs if ref not in found}
    return found


def _mtime(path: Path) -> float | None:
    try:
        return path.lstat().st_mtime
    except OSError:
        return None
