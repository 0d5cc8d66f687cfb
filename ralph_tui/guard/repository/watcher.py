"""Takes snapshots of the repository, so that no change around a session goes unnoticed."""

import hashlib
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.guard.repository.changes import STAGE, Snapshot
from ralph_tui.guard.sandbox.environment import REFLOG_MARK

_TIMEOUT_SECONDS = 60.0
_GITLINK = "160000"

_MAX_COMMITS = 20

_DIRECTORY_QUERIES = ("--absolute-git-dir", "--git-common-dir", "--is-inside-git-dir")


class RepositoryWatcher:
    """Observes the repository of a project. Every call blocks."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def snapshot(self) -> Snapshot | None:
        if (found := self._directories()) is None:
            return None
        git_dir, common_dir = found
        shown = self._git("rev-parse", "--show-toplevel").removesuffix(b"\n")
        top = Path(os.fsdecode(shown) or self._root)
        index = self._index(top)
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
            worktrees=self._worktree_paths(),
            submodules=self._submodules(index, top),
            marked=_agent_commits(git_dir / "logs" / "HEAD"),
        )

    def follows(self, old: str, new: str) -> bool:
        return self._run_git("merge-base", "--is-ancestor", old, new).returncode == 0

    def commits(self, old: str, new: str) -> tuple[str, ...]:
        span = f"{old}..{new}" if old else new
        output = self._git("log", "--format=%h %s", f"--max-count={_MAX_COMMITS}", span, "--")
        return tuple(one_line(line) for line in output.decode(errors="replace").splitlines())

    def _directories(self) -> tuple[Path, Path] | None:
        """Return git's directory for this work tree, and the one that all work trees share."""
        if not _may_be_inside(self._root.resolve()):
            return None
        try:
            found = self._run_git("rev-parse", *_DIRECTORY_QUERIES)
        except FileNotFoundError:
            return None
        if found.returncode:
            self._require_no_repository(one_line(found.stderr.decode(errors="replace")))
            return None
        lines = found.stdout.decode(errors="surrogateescape").splitlines()
        git_dir, common_dir = (self._root / line for line in lines[:2])
        if lines[2] == "true":
            raise SetupError(
                f"{self._root} is inside git's own directory {git_dir} or is a bare repository.",
                "Run in a work tree. Create one with `git clone` or `git worktree add`.",
            )
        return git_dir, common_dir

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

    def _index(self, top: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        listed = self._git("ls-files", "-s", "-v", "-z", directory=top)
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
        heads: dict[str, tuple[str, str]] = {}
        for path, entry in index.items():
            directory = top / path
            if f" {_GITLINK}," not in entry or not os.path.lexists(directory / ".git"):
                continue
            asked = self._git("rev-parse", "HEAD", check=False, directory=directory)
            if not asked:
                continue
            commit = asked.decode(errors="surrogateescape").strip()
            branch = self._git("symbolic-ref", "-q", "HEAD", check=False, directory=directory)
            heads[path] = (branch.decode(errors="surrogateescape").strip(), commit)
        return heads

    def _config(self, common_dir: Path, git_dir: Path) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for file in (common_dir / "config", git_dir / "config.worktree"):
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

    def _git(self, *arguments: str, check: bool = True, directory: Path | None = None) -> bytes:
        done = self._run_git(*arguments, directory=directory)
        if done.returncode and check:
            error = one_line(done.stderr.decode(errors="replace"))
            raise SetupError(f"`git {arguments[0]}` failed: {error}", "Run `git status` there.")
        return b"" if done.returncode else done.stdout

    def _run_git(
        self, *arguments: str, directory: Path | None = None
    ) -> "subprocess.CompletedProcess[bytes]":
        # The repository's settings may name programs, which must not run here.
        quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return subprocess.run(
                ["git", *quiet, *arguments],
                cwd=directory or self._root,
                env=kept | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                capture_output=True,
                stdin=subprocess.DEVNULL,
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
