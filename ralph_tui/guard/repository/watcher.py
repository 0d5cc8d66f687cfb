"""Takes snapshots of the repository, so that no change around a session goes unnoticed."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.guard.repository.changes import STAGE, Snapshot
from ralph_tui.guard.sandbox.environment import REFLOG_MARK

_TIMEOUT_SECONDS = 60.0
_GITLINK = "160000"

_MAX_COMMITS = 20

_PLACES = ("--absolute-git-dir", "--git-common-dir", "--is-inside-git-dir", "--show-toplevel")


class RepositoryWatcher:
    """Observes the repository of a project. Every call blocks."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._settings: Callable[[bytes], bytes] = lru_cache(maxsize=2)(self._settings_in)

    def snapshot(self) -> Snapshot | None:
        if (found := self._directories()) is None:
            return None
        git_dir, common_dir, top = found
        index = self._index()
        return Snapshot(
            head=self._head(),
            above="" if top == self._root.resolve() else str(top),
            refs=self._refs(),
            index=index,
            stash={
                line.split(b" ")[1].decode(): line.partition(b"\t")[2].decode(errors="replace")
                for line in _reflog_lines(common_dir / "logs" / "refs" / "stash")
            },
            config=self._config(common_dir, git_dir),
            hooks=_file_digests(common_dir / "hooks"),
            info=_file_digests(common_dir / "info", git_dir / "info"),
            worktrees=_worktree_paths(common_dir / "worktrees"),
            submodules=self._submodules(index, top),
            marked=_agent_commits(git_dir / "logs" / "HEAD"),
        )

    def follows(self, old: str, new: str) -> bool:
        return self._run_git("merge-base", "--is-ancestor", old, new).returncode == 0

    def commits(self, old: str, new: str) -> tuple[str, ...]:
        span = f"{old}..{new}" if old else new
        output = self._git("log", "--format=%h %s", f"--max-count={_MAX_COMMITS}", span, "--")
        return tuple(one_line(line) for line in output.decode(errors="replace").splitlines())

    def _directories(self) -> tuple[Path, Path, Path] | None:
        """Return git's directory for this work tree, the one that all work trees share, and the top of this one."""
        if not _may_be_inside(self._root.resolve()):
            return None
        try:
            found = self._run_git("rev-parse", *_PLACES)
        except FileNotFoundError:
            return None
        lines = os.fsdecode(found.stdout).split("\n")
        if lines[2:3] == ["true"]:
            raise SetupError(
                f"{self._root} is inside git's own directory {lines[0]} or is a bare repository.",
                "Run in a work tree. Create one with `git clone` or `git worktree add`.",
            )
        if found.returncode:
            self._require_no_repository(one_line(found.stderr.decode(errors="replace")))
            return None
        return self._root / lines[0], self._root / lines[1], Path(lines[3])

    def _require_no_repository(self, error: str) -> None:
        if "not a git repository (or any" not in error or (self._root / ".git").exists():
            raise SetupError(
                f"git cannot read the repository of {self._root}: {error.removeprefix('fatal: ')}",
                "Run `git status` there to see why.",
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

    def _index(self) -> dict[str, str]:
        found: dict[str, str] = {}
        listed = self._git("ls-files", "-s", "-v", "-z", "--full-name", "--", ":/")
        for line in listed.decode(errors="surrogateescape").split("\0"):
            about, _, path = line.partition("\t")
            words = about.split()
            if len(words) == 4:
                tag, mode, commit, stage = words
                key = path if stage == "0" else f"{path}{STAGE}{stage})"
                found[key] = f"{tag} {mode},{commit}"
        return found

    def _submodules(self, index: Mapping[str, str], top: Path) -> dict[str, tuple[str, str]]:
        heads: dict[str, tuple[str, str]] = {}
        for path in (path for path, entry in index.items() if f" {_GITLINK}," in entry):
            if not os.path.lexists(top / path / ".git"):
                continue
            place = ("-C", str(top / path))
            asked = self._git(*place, "rev-parse", "HEAD", check=False)
            if not asked:
                continue
            commit = asked.decode(errors="surrogateescape").strip()
            branch = self._git(*place, "symbolic-ref", "-q", "HEAD", check=False)
            heads[path] = (branch.decode(errors="surrogateescape").strip(), commit)
        return heads

    def _config(self, common_dir: Path, git_dir: Path) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in (common_dir / "config", git_dir / "config.worktree"):
            if not file.is_file():
                continue
            text = self._settings(file.read_bytes())
            for entry in text.decode(errors="surrogateescape").split("\0"):
                key, _, value = entry.partition("\n")
                if key:
                    found[key] = (*found.get(key, ()), value)
        return found

    def _settings_in(self, text: bytes) -> bytes:
        return self._git("config", "--file", "-", "--no-includes", "--list", "-z", stdin=text)

    def _git(self, *arguments: str, check: bool = True, stdin: bytes = b"") -> bytes:
        done = self._run_git(*arguments, stdin=stdin)
        if done.returncode and check:
            error = one_line(done.stderr.decode(errors="replace"))
            raise SetupError(f"`git {arguments[0]}` failed: {error}", "Run `git status` there.")
        return b"" if done.returncode else done.stdout

    def _run_git(self, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        # The repository's settings may name programs, which must not run here.
        quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return subprocess.run(
                ["git", *quiet, *arguments],
                cwd=self._root,
                env=kept | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                capture_output=True,
                input=stdin,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SetupError(
                f"`git {arguments[0]}` timed out after {_TIMEOUT_SECONDS:.0f} seconds.",
                "Run it in the project to see why.",
            ) from error


def _may_be_inside(directory: Path) -> bool:
    return any(
        os.path.lexists(d / ".git")
        or (os.path.lexists(d / "HEAD") and os.path.lexists(d / "objects"))
        for d in (directory, *directory.parents)
    )


def _worktree_paths(linked: Path) -> tuple[str, ...]:
    """Return the other work trees; `linked` has a directory for each, which names the tree's .git."""
    named = {p: os.fsdecode(p.read_bytes()) for p in linked.glob("*/gitdir") if p.is_file()}
    places = (os.path.normpath(p.parent / name.strip("\n")) for p, name in named.items())
    return tuple(sorted(place.removesuffix("/.git") for place in places))


def _agent_commits(log: Path) -> frozenset[str]:
    mark = f"\t{REFLOG_MARK}".encode()
    return frozenset(line.split(b" ")[1].decode() for line in _reflog_lines(log) if mark in line)


def _reflog_lines(path: Path) -> list[bytes]:
    try:
        return [line for line in path.read_bytes().splitlines() if line.count(b" ") > 1]
    except OSError:  # there is no such log
        return []


_DERIVED = {"refs", "packs", "commit-graph"}


def _file_digests(*directories: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in (p for d in directories if d.is_dir() for p in sorted(d.iterdir())):
        info = path.lstat()
        if path.name in _DERIVED or stat.S_ISDIR(info.st_mode):
            continue
        content = b""
        if stat.S_ISLNK(info.st_mode):
            content = str(path.readlink()).encode(errors="surrogateescape")
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        found[path.name] = f"{info.st_mode:o} {hashlib.sha256(content).hexdigest()}"
    return found
