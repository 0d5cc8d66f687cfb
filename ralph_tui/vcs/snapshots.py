"""Keeps snapshots of the project's files in ralph's own git directory, and restores them.

The person's repository is neither needed nor touched: objects, index and references are outside the project,
where no agent can write. Git knows what changed since the last snapshot, so a snapshot of 20,000 unchanged files
takes milliseconds. Files that git's ignore rules exclude are left out, unless the person's repository tracks them, and so
are very large untracked files, nested repositories and what cannot be read.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import SetupError
from ralph_tui.vcs.git import Git, run_git

EXCLUDED_DIRECTORIES = frozenset({
    ".git", ".ralph", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache",
})  # fmt: skip
"""Directories to leave out, because they are not source or change whenever checks run."""

AGENT_NOTES = ("MEMORY.md", "progress.txt", ".claude/.cc-writes")
"""The agent's notes on its own work, which a reviewer must not see and an undo keeps."""

LARGEST_FILE = 20 * 1024 * 1024
"""Bytes; larger files are left out unless the person's repository tracks them."""

MAX_POINTS, KEPT_POINTS = 150, 100
"""If there are more iterations than the first number, only the second number of them are kept."""

MAX_KIB = 2 * 1024 * 1024
"""If the snapshots are larger than this, only the last few iterations are kept."""

_POINTS_IF_LARGE = 10
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=true", "core.autocrlf=false",
    "core.bigFileThreshold=1m", "core.compression=0", "gc.auto=0", "advice.addEmbeddedRepo=false",
    "core.quotePath=false",
)  # fmt: skip
_UNCHANGED_BYTES = "* -text -ident -filter !working-tree-encoding !eol\n"
"""Attributes that keep every byte unchanged, whatever the project's .gitattributes say."""

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    **{f"GIT_{role}_NAME": "ralph" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ralph@localhost" for role in ("AUTHOR", "COMMITTER")},
}


class Content(NamedTuple):
    """The content of a path: its mode, and the object with its bytes."""

    mode: str
    object: str


class Point(NamedTuple):
    """The project before and after an iteration; `after` is empty if it never ended."""

    iteration: int
    task_id: str
    run: str
    before: str
    after: str
    at: int
    """When the iteration began, in seconds since the epoch."""


class Difference(NamedTuple):
    """A path that differs between two trees, with the lines added and removed; None where it is missing."""

    path: str
    old: Content | None
    new: Content | None
    additions: int = 0
    deletions: int = 0


class SnapshotStore:
    """Takes and restores snapshots of one project. Every method blocks."""

    def __init__(self, root: Path, git_dir: Path, feature: str = "") -> None:
        """Use `git_dir`, which the first snapshot creates, for the project at `root` and the iterations of a feature."""
        self.root = root
        self._git_dir = git_dir
        # Iterations of different features have the same numbers. A reference has no two dots, and no .lock at its end.
        self._points = f"refs/undo-of/{feature.replace('.', '%')}/" if feature else "refs/undo/"
        self._last: tuple[tuple[int, ...], str] | None = None
        """The state of the index after the last snapshot, and the tree of that snapshot."""
        self.left_out: tuple[str, ...] = ()
        """What the last snapshot left out although no rule ignores it: too large, unreadable, or a repository."""
        # A tree is named by what it holds, so what is known of one stays true.
        self.contents: Callable[[str], dict[str, Content]] = lru_cache(maxsize=3)(self._contents)
        self._of_trees: Callable[..., str] = lru_cache(maxsize=8)(self.git)
        self._persons_rules: str | None = None
        self._persons_index: str | None = None
        self._forced_at = 0

    @property
    def exists(self) -> bool:
        return (self._git_dir / "HEAD").is_file()

    def take(self) -> str:
        self._prepare()
        listed = self.git("ls-files", "--others", "--modified", "--exclude-standard", "-z")
        changed = [path for path in listed.split("\0") if path]
        self._leave_out(changed)
        forced = self._newly_forced()
        changed = [path for path in (*changed, *forced) if path not in self.left_out]
        index = self._index()
        if not changed and self._last is not None and self._last[0] == index:
            return self._last[1]
        out = [f":(exclude,literal,top){path.rstrip('/')}" for path in self.left_out]
        self.git("add", "--all", "--", ".", *out)
        if forced:
            listed = "\0".join(forced)
            self.git("update-index", "--add", "--remove", "-z", "--stdin", stdin=listed)
        tree = self.git("write-tree").strip()
        index = self._index()
        self._last = (index, tree) if index else None
        return tree

    def _index(self) -> tuple[int, ...]:
        try:
            found = (self._git_dir / "index").stat()
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _leave_out(self, changed: Iterable[str]) -> None:
        sizes = {path: found.st_size if (found := self._status(path)) else 0 for path in changed}
        large = [path for path, size in sizes.items() if size > LARGEST_FILE]
        if large:
            listed = Git(self.root).ask("ls-files", "-z", "--", *large).stdout.split(b"\0")
            large = sorted({*large} - {os.fsdecode(path) for path in listed})
        closed = [path for path in sizes if path.endswith("/") or not self._readable(path)]
        self.left_out = tuple(dict.fromkeys((*large, *closed)))
        room = min(MAX_KIB * 1024, shutil.disk_usage(self._git_dir).free // 2)
        if sum(size for path, size in sizes.items() if path not in self.left_out) > room:
            raise SetupError(
                "The project's files are too large for snapshots.",
                "List files that are not source in .gitignore, such as data and build results.",
            )

    def _readable(self, path: str) -> bool:
        found = self._status(path)  # none of a deleted file, which is a change
        return not (found and stat.S_ISREG(found.st_mode)) or os.access(self.root / path, os.R_OK)

    def _newly_forced(self) -> tuple[str, ...]:
        git = Git(self.root)
        if self._persons_index is None:
            self._persons_index = os.fsdecode(
                git.ask("rev-parse", "--git-path", "index").stdout
            ).strip()
        try:
            changed = (self.root / self._persons_index).stat().st_mtime_ns
        except OSError:
            changed = 0
        if not self._persons_index or changed == self._forced_at:
            return ()
        self._forced_at = changed
        words = (word for name in sorted(EXCLUDED_DIRECTORIES) for word in ("-x", name))
        listed = git.ask("ls-files", "--ignored", "--cached", "--exclude-standard", *words, "-z")
        paths = (os.fsdecode(path) for path in listed.stdout.split(b"\0") if path)
        return tuple(p for p in paths if p not in AGENT_NOTES and not p.startswith(".ralph/"))

    def _status(self, path: str) -> os.stat_result | None:
        with contextlib.suppress(OSError):
            return (self.root / path).lstat()
        return None

    # Iterations.

    def begin(self, iteration: int, task_id: str, run: str) -> str:
        """Record the project before an iteration; a retry with the same number keeps the first record. Return its tree."""
        tree, known = self.take(), self._begun
        if iteration in known and known[iteration][1:3] == (task_id, run):
            return known[iteration].before
        about = json.dumps({"iteration": iteration, "task": task_id, "run": run})
        place = f"{self._points}{iteration:08}"
        commit = self.git("commit-tree", tree, "-m", about).strip()
        ended = f"delete {place}/after\n" if iteration in known else ""
        self.git("update-ref", "--stdin", stdin=f"{ended}update {place}/before {commit}\n")
        known[iteration] = Point(iteration, task_id, run, tree, "", 0)
        return tree

    def end(self, iteration: int) -> str:
        tree = self.take()
        if iteration in self._begun:
            self.git("update-ref", f"{self._points}{iteration:08}/after", tree)
        return tree

    def points(self) -> tuple[Point, ...]:
        if not self.exists:
            return ()
        # A beginning is a commit whose message names the task; an end is a tree, or a commit in older versions.
        form = (
            "--format=%(refname)%00%(if)%(tree)%(then)%(tree)%(else)%(objectname)%(end)"
            "%00%(committerdate:unix)%00%(contents:subject)"
        )
        found: dict[int, dict[str, tuple[str, str, str]]] = {}
        for line in self.git("for-each-ref", form, self._points).splitlines():
            name, tree, time, about = line.split("\0")
            number, _, when = name.removeprefix(self._points).partition("/")
            found.setdefault(int(number), {})[when] = (tree, time, about)
        points = []
        for iteration, sides in sorted(found.items()):
            if "before" in sides:
                tree, time, text = sides["before"]
                about = json.loads(text)
                after = sides.get("after", ("", "", ""))[0]
                points.append(Point(iteration, about["task"], about["run"], tree, after, int(time)))
        return tuple(points)

    @cached_property
    def _begun(self) -> dict[int, Point]:
        """Each kept iteration; only the loop's process writes them during a run."""
        return {one.iteration: one for one in self.points()}

    def forget_old(self) -> None:
        """Drop the oldest iterations if there are too many or they take too much space."""
        if not self.exists:
            return
        points = self.points()
        counted = dict(line.split(": ") for line in self.git("count-objects", "-v").splitlines())
        if int(counted.get("size", 0)) + int(counted.get("size-pack", 0)) > MAX_KIB:
            dropped = points[:-_POINTS_IF_LARGE]
        else:
            dropped = points[:-KEPT_POINTS] if len(points) > MAX_POINTS else ()
        if dropped:
            self.forget(point.iteration for point in dropped)
            self.git("prune", "--expire=now")
            self._last = None

    def forget(self, iterations: Iterable[int]) -> None:
        self.__dict__.pop("_begun", None)
        places = (f"{self._points}{n:08}" for n in iterations)
        lines = (f"delete {place}/{when}\n" for place in places for when in ("before", "after"))
        self.git("update-ref", "--stdin", stdin="".join(lines))

    # Trees.

    def _contents(self, tree: str) -> dict[str, Content]:
        found: dict[str, Content] = {}
        listed = self.git("ls-tree", "-r", "-z", "--full-tree", tree) if tree else ""
        for line in listed.split("\0"):
            about, _, path = line.partition("\t")
            if path:
                mode, _, held = about.split()
                found[path] = Content(mode, held)
        return found

    def differences(
        self, old: str, new: str, *, with_lines: bool = False
    ) -> tuple[Difference, ...]:
        """Return the paths that differ between two trees, optionally with line counts."""
        form = ("--numstat", "--no-ext-diff", "--no-textconv") if with_lines else ()
        words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", *form, old, new)
        entries = iter(self._of_trees(*words).split("\0") if old != new else ())
        found: dict[str, Difference] = {}
        for entry in entries:
            if entry.startswith(":"):
                old_mode, new_mode, old_object, new_object, status = entry[1:].split()
                before = None if status == "A" else Content(old_mode, old_object)
                after = None if status == "D" else Content(new_mode, new_object)
                path = next(entries)
                found[path] = Difference(path, before, after)
            elif entry:
                added, removed, path = entry.split("\t", 2)
                if added.isdigit():  # of a binary file there are no lines
                    found[path] = found[path]._replace(additions=int(added), deletions=int(removed))
        return tuple(found.values())

    def tree_with(self, tree: str, changed: Mapping[str, Content | None]) -> str:
        """Return a tree with new contents at these paths; None removes a path."""
        lines = [
            f"{held.mode} {held.object}\t{path}" if held is not None else f"0 {'0' * 40}\t{path}"
            for path, held in changed.items()
        ]
        # Removals come first, because a file may replace a directory.
        lines.sort(key=lambda line: not line.startswith("0 "))
        index = self._git_dir / f"copy-{os.getpid()}-{os.urandom(4).hex()}.index"
        extra = {"GIT_INDEX_FILE": str(index)}
        try:
            self.git("read-tree", tree, extra=extra)
            words = ("update-index", "--replace", "-z", "--index-info")
            self.git(*words, stdin="\0".join([*lines, ""]), extra=extra)
            return self.git("write-tree", extra=extra).strip()
        finally:
            index.unlink(missing_ok=True)

    def put(self, data: bytes, mode: str = "100644") -> Content:
        """Keep these bytes, and return them as the content of a path."""
        kept = self.git("hash-object", "-w", "--stdin", stdin=os.fsdecode(data))
        return Content(mode, kept.strip())

    def switch(self, current: str, wanted: str) -> None:
        """Change the project's files from the tree of the latest snapshot to another one.

        Raises:
            SetupError: A file has changed since, so nothing was touched.
        """
        paths = [one.path for one in self.differences(current, wanted)]
        known = {path: found.st_mode for path in paths if (found := self._status(path))}
        self.git("read-tree", "-m", "-u", current, wanted)
        for path, mode in known.items():
            found = self._status(path)
            if found and stat.S_ISREG(mode) and stat.S_ISREG(found.st_mode):
                # Git does as the umask says, but a private file stays private.
                runs = (mode & 0o444) >> 2 if found.st_mode & 0o100 else 0
                (self.root / path).chmod(stat.S_IMODE(mode) & ~0o111 | runs)

    def ignored(self) -> tuple[str, ...]:
        self._prepare()
        form = ("--others", "--ignored", "--exclude-standard", "--directory")
        listed = {*self.git("ls-files", *form, "-z").split("\0")} - {""}
        # Directories that are empty, or have nothing but ignored files, are listed too.
        places = {path for path in listed if path.endswith("/")}
        unsure = {p for p in places if p.split("/")[-2] not in EXCLUDED_DIRECTORIES}
        check = ("check-ignore", "--no-index", "--stdin", "-z")
        matched = self.git(*check, stdin="\0".join(unsure), ok=(0, 1)) if unsure else ""
        return tuple(sorted(listed - unsure | {*matched.split("\0")} - {""}))

    def _prepare(self) -> None:
        if not self.exists:
            self._git_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Private whatever the umask, and without sample hooks.
            private = ("--shared=0600", "--template=")
            self._output(self._run(("init", "--quiet", "--bare", *private, str(self._git_dir))))
        if self._persons_rules is None:
            self._persons_rules = _persons_rules(self.root)
        left_out = (*sorted(EXCLUDED_DIRECTORIES), *(f"/{name}" for name in AGENT_NOTES))
        self._write("exclude", "\n".join((self._persons_rules, *left_out)) + "\n")
        self._write("attributes", _UNCHANGED_BYTES)

    def _write(self, name: str, text: str) -> None:
        path = self._git_dir / "info" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8", errors="surrogateescape") != text:
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8", errors="surrogateescape")

    def git(
        self,
        *arguments: str,
        stdin: str = "",
        extra: Mapping[str, str] | None = None,
        work_tree: Path | None = None,
        ok: tuple[int, ...] = (0,),
    ) -> str:
        """Run a git command on the snapshots and return its output.

        Args:
            work_tree: The directory of the files; by default the project.
        """
        tree = work_tree or self.root
        places = (f"--git-dir={self._git_dir}", f"--work-tree={tree}")
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        words = (*places, *settings, *arguments)
        # A git whose ralph was killed keeps the descriptor, so a lock file belongs to nobody once we hold the lock.
        private = os.open(self._git_dir / "lock", os.O_CREAT | os.O_RDWR, 0o600)
        with open(private, "w") as lock:  # noqa: PTH123 - a descriptor, for its mode
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self._run(words, stdin, extra, tree, lock.fileno())
            left = _LOCK_FILE.search(done.stderr) if done.returncode else None
            if left is not None:
                Path(os.fsdecode(left[1])).unlink(missing_ok=True)
                done = self._run(words, stdin, extra, tree, lock.fileno())
        return self._output(done, ok)

    def _run(
        self,
        arguments: Sequence[str],
        stdin: str = "",
        extra: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        *descriptors: int,
    ) -> "subprocess.CompletedProcess[bytes]":
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
        environment = {**inherited, **_ENVIRONMENT, **(extra or {})}
        return run_git(arguments, cwd or self.root, environment, os.fsencode(stdin), *descriptors)

    def _output(
        self, done: "subprocess.CompletedProcess[bytes]", ok: tuple[int, ...] = (0,)
    ) -> str:
        if done.returncode not in ok:
            stderr = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason"]
            raise SetupError(f"Git cannot read the project's files: {stderr[-1]}.", _HINT)
        return os.fsdecode(done.stdout)


def _persons_rules(root: Path) -> str:
    git, home = Git(root), os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    named = git.ask("config", "--type=path", "core.excludesFile").stdout.strip()
    own = git.ask("rev-parse", "--git-path", "info/exclude").stdout.strip()
    files = [os.fsdecode(named) or f"{home}/git/ignore", *([os.fsdecode(own)] if own else [])]
    texts = []
    for file in files:
        try:
            texts.append((root / file).read_text(encoding="utf-8", errors="surrogateescape"))
        except OSError:
            continue
    return "\n".join(texts)


_HINT = "Run `ralph doctor`, which checks for git."
_LOCK_FILE = re.compile(rb"Unable to create '(/.*\.lock)': File exists")


def plan_undo(
    current: Mapping[str, Content], undone: Iterable[Sequence[Difference]]
) -> tuple[Mapping[str, Content | None], tuple[str, ...]]:
    """Return the changes that undo these iterations, and the paths that have changed since. Pure.

    A path is undone only if it is still as the iteration left it. A path that is already restored is left
    alone, so that an interrupted undo can be repeated.

    Args:
        undone: What each iteration changed, newest first.
    """
    wanted: dict[str, Content | None] = {}
    conflicts: dict[str, None] = {}
    for differences in undone:
        for one in differences:
            now = wanted[one.path] if one.path in wanted else current.get(one.path)
            if now in (one.new, one.old):
                wanted[one.path] = one.old
            else:
                conflicts[one.path] = None
    changed = {path: held for path, held in wanted.items() if current.get(path) != held}
    return changed, tuple(conflicts)
