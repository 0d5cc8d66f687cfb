"""Keeps trees of the project's files in a git directory of ralph's own, and brings a tree back.

The person's repository is never touched, and none is needed: objects, index and references are outside of the
project, where no agent writes. Git knows what changed since the last snapshot, so one of 20,000 unchanged files
takes milliseconds. What the project's .gitignore names is left out, and so are very large files.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import SetupError

NOT_THE_PROJECT = frozenset({
    ".git", ".ralph", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache",
    ".ruff_cache", ".hypothesis", ".tox", ".nox", ".cache",
})  # fmt: skip
"""Directories that change by themselves when checks run."""

WORKERS_NOTES = ("MEMORY.md", "progress.txt", "progress.txt.1")
"""Files in which a worker reports on its own work; a reviewer must not see them, and an undo keeps them."""

SECONDS = 60.0
"""Seconds for one git command; the first snapshot reads every file."""

LARGEST_FILE = 20 * 1024 * 1024
"""Larger files are not kept."""

MOST_POINTS, KEPT_POINTS = 150, 100
"""With more iterations than the first number, the oldest are dropped down to the second."""

MOST_KIB = 2 * 1024 * 1024
"""With more than this much kept, only the last few iterations stay."""

_FEW_POINTS = 10
_POINTS = "refs/undo/"
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=true", "core.autocrlf=false",
    "core.bigFileThreshold=1m", "core.compression=0", "gc.auto=0", "advice.addEmbeddedRepo=false",
    "core.quotePath=false",
)  # fmt: skip
_AS_IT_IS = "* -text -ident -filter !working-tree-encoding !eol\n"
"""Keeps every byte, whatever the project's .gitattributes say."""

_OWN = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    **{f"GIT_{role}_NAME": "ralph" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "ralph@localhost" for role in ("AUTHOR", "COMMITTER")},
}


class Content(NamedTuple):
    """What a path holds: its mode and the object with its bytes."""

    mode: str
    object: str


class Point(NamedTuple):
    """The project before and after one iteration; `after` is empty when it never ended."""

    iteration: int
    task_id: str
    run: str
    before: str
    after: str
    at: int
    """When it began, in seconds since the epoch."""


class Difference(NamedTuple):
    """A path that differs between two trees; None where it does not exist. Lines are of its text."""

    path: str
    old: Content | None
    new: Content | None
    additions: int = 0
    deletions: int = 0


class SnapshotStore:
    """Snapshots of one project. Every method blocks."""

    def __init__(self, root: Path, git_dir: Path) -> None:
        """Watch the project at `root` and keep its snapshots in `git_dir`; write nothing before the first."""
        self._root = root
        self._git_dir = git_dir
        self._last: tuple[tuple[int, ...], str] | None = None
        """The index as the last snapshot left it, and that snapshot's tree."""
        self._begun: dict[int, tuple[str, str]] | None = None
        """Task and run of each iteration that is kept. Only the loop's own process writes them during a run."""

    @property
    def exists(self) -> bool:
        """Whether there is any snapshot."""
        return (self._git_dir / "HEAD").is_file()

    def take(self) -> str:
        """Snapshot the current files; return the id of the tree.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        self._prepare()
        changed = self._changed()
        index = self._index()
        if not changed and self._last is not None and self._last[0] == index:
            return self._last[1]
        large = [f":(exclude,literal,top){path}" for path in self._large(changed)]
        self.git("add", "--all", "--", ".", *large)
        tree = self.git("write-tree").strip()
        index = self._index()
        self._last = (index, tree) if index else None
        return tree

    def _changed(self) -> list[str]:
        """Return the paths that differ from the index, deleted ones included."""
        listed = self.git("ls-files", "--others", "--modified", "--exclude-standard", "-z")
        return [path for path in listed.split("\0") if path]

    def _index(self) -> tuple[int, ...]:
        """Return what differs when anyone wrote the index; git replaces the file."""
        try:
            found = (self._git_dir / "index").stat()
        except FileNotFoundError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _large(self, changed: Iterable[str]) -> list[str]:
        """Return the changed files that are not kept.

        Raises:
            SetupError: The others need more room than snapshots may take.
        """
        sizes = {path: self._size(path) for path in changed}
        large = [path for path, size in sizes.items() if size > LARGEST_FILE]
        room = min(MOST_KIB * 1024, shutil.disk_usage(self._git_dir).free // 2)
        if sum(sizes.values()) - sum(sizes[path] for path in large) > room:
            raise SetupError(
                "The project's files are too large for snapshots.",
                "Name what is not source in .gitignore, such as data and build results.",
            )
        return large

    def _size(self, path: str) -> int:
        try:
            return (self._root / path).lstat().st_size
        except OSError:
            return 0

    # The project before and after each iteration.

    def begin(self, iteration: int, task_id: str, run: str) -> None:
        """Remember the project before an iteration; one that is tried again under its number began only once.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        tree = self.take()
        known = self._known()
        if known.get(iteration) == (task_id, run):
            return
        about = json.dumps({"iteration": iteration, "task": task_id, "run": run})
        place = f"{_POINTS}{iteration:08}"
        commit = self.git("commit-tree", tree, "-m", about).strip()
        lines = [f"delete {place}/after"] if iteration in known else []
        lines.append(f"update {place}/before {commit}")
        self.git("update-ref", "--stdin", stdin="\n".join([*lines, ""]))
        known[iteration] = (task_id, run)

    def end(self, iteration: int) -> None:
        """Remember the project after an iteration that was begun.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        if iteration in self._known():
            self.git("update-ref", f"{_POINTS}{iteration:08}/after", self.take())

    def points(self) -> tuple[Point, ...]:
        """Return what is known of past iterations, the oldest first."""
        if not self.exists:
            return ()
        # A beginning is a commit, whose message tells the task; an end is a tree, and was a commit in older versions.
        form = (
            "--format=%(refname)%00%(if)%(tree)%(then)%(tree)%(else)%(objectname)%(end)"
            "%00%(committerdate:unix)%00%(contents:subject)"
        )
        found: dict[int, dict[str, tuple[str, str, str]]] = {}
        for line in self.git("for-each-ref", form, _POINTS).splitlines():
            name, tree, time, about = line.split("\0")
            number, _, when = name.removeprefix(_POINTS).partition("/")
            found.setdefault(int(number), {})[when] = (tree, time, about)
        points = []
        for iteration, sides in sorted(found.items()):
            if "before" in sides:
                tree, time, text = sides["before"]
                about = json.loads(text)
                after = sides.get("after", ("", "", ""))[0]
                points.append(Point(iteration, about["task"], about["run"], tree, after, int(time)))
        return tuple(points)

    def _known(self) -> dict[int, tuple[str, str]]:
        if self._begun is None:
            self._begun = _tasks_of(self.points())
        return self._begun

    def forget_old(self) -> None:
        """Drop the oldest iterations where there are many, or where they take much room."""
        if not self.exists:
            return
        points = self.points()
        counted = dict(line.split(": ") for line in self.git("count-objects", "-v").splitlines())
        if int(counted.get("size", 0)) + int(counted.get("size-pack", 0)) > MOST_KIB:
            dropped = points[:-_FEW_POINTS]
        else:
            dropped = points[:-KEPT_POINTS] if len(points) > MOST_POINTS else ()
        self._begun = _tasks_of(points)
        if dropped:
            self.forget(point.iteration for point in dropped)
            self.git("prune", "--expire=now")
            self._last = None

    def forget(self, iterations: Iterable[int]) -> None:
        """Drop what is known of these iterations."""
        self._begun = None
        places = (f"{_POINTS}{n:08}/{when}" for n in iterations for when in ("before", "after"))
        self.git("update-ref", "--stdin", stdin="".join(f"delete {place}\n" for place in places))

    # Trees.

    def contents(self, tree: str) -> dict[str, Content]:
        """Return what each path of a tree holds."""
        found: dict[str, Content] = {}
        for line in self.git("ls-tree", "-r", "-z", "--full-tree", tree).split("\0"):
            about, _, path = line.partition("\t")
            if path:
                mode, _, held = about.split()
                found[path] = Content(mode, held)
        return found

    def differences(
        self, old: str, new: str, *, with_lines: bool = False
    ) -> tuple[Difference, ...]:
        """Return the paths that differ between two trees, optionally with the number of lines."""
        raw = self.git("diff-tree", "-r", "-z", "--raw", "--no-renames", old, new).split("\0")
        words = [word for word in raw if word]
        lines = self._lines(old, new) if with_lines else {}
        found = []
        for about, path in zip(words[::2], words[1::2], strict=True):
            old_mode, new_mode, old_object, new_object, status = about.removeprefix(":").split()
            before = None if status == "A" else Content(old_mode, old_object)
            after = None if status == "D" else Content(new_mode, new_object)
            found.append(Difference(path, before, after, *lines.get(path, (0, 0))))
        return tuple(found)

    def _lines(self, old: str, new: str) -> dict[str, tuple[int, int]]:
        form = ("-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv")
        found: dict[str, tuple[int, int]] = {}
        for entry in self.git("diff-tree", *form, old, new).split("\0"):
            added, _, rest = entry.partition("\t")
            removed, _, path = rest.partition("\t")
            if added.isdigit() and removed.isdigit():
                found[path] = (int(added), int(removed))
        return found

    def tree_with(self, tree: str, changed: Mapping[str, Content | None]) -> str:
        """Return a tree with other contents at these paths; None takes a path out."""
        lines = [
            f"{held.mode} {held.object}\t{path}" if held is not None else f"0 {'0' * 40}\t{path}"
            for path, held in changed.items()
        ]
        # What is taken out goes first: a file may stand where a directory was.
        lines.sort(key=lambda line: not line.startswith("0 "))
        with _TemporaryIndex(self._git_dir) as index:
            self.git("read-tree", tree, extra=index)
            self.git(
                "update-index", "-z", "--index-info", stdin="\0".join([*lines, ""]), extra=index
            )
            return self.git("write-tree", extra=index).strip()

    def switch(self, current: str, wanted: str) -> None:
        """Change the project's files from the tree they were just snapshotted as to another one.

        Raises:
            SetupError: A file was changed since, so nothing was touched.
        """
        self.git("read-tree", "-m", "-u", current, wanted)

    def copy_to(self, tree: str, directory: Path) -> None:
        """Write the files of a tree into an empty directory."""
        with _TemporaryIndex(self._git_dir) as index:
            self.git("read-tree", tree, extra=index)
            self.git("checkout-index", "--all", f"--prefix={directory}/", extra=index)

    # Git.

    def _prepare(self) -> None:
        if not self.exists:
            self._git_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Private at any umask, without the samples of hooks.
            private = ("--shared=0600", "--template=")
            self._run(("init", "--quiet", "--bare", *private, str(self._git_dir)))
        left_out = (*sorted(NOT_THE_PROJECT), *(f"/{name}" for name in WORKERS_NOTES))
        self._write("exclude", "\n".join(left_out) + "\n")
        self._write("attributes", _AS_IT_IS)

    def _write(self, name: str, text: str) -> None:
        path = self._git_dir / "info" / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")

    def git(self, *arguments: str, stdin: str = "", extra: Mapping[str, str] | None = None) -> str:
        """Run a git command on the snapshots and return what it prints.

        Args:
            arguments: The command and its arguments.
            stdin: What it reads.
            extra: More variables.

        Raises:
            SetupError: It failed, or git is missing or takes too long.
        """
        places = (f"--git-dir={self._git_dir}", f"--work-tree={self._root}")
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        return self._run((*places, *settings, *arguments), stdin, extra)

    def _run(
        self, arguments: Sequence[str], stdin: str = "", extra: Mapping[str, str] | None = None
    ) -> str:
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=self._root,
                env={**inherited, **_OWN, **(extra or {})},
                input=os.fsencode(stdin),
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise SetupError("A snapshot needs git, and it is not installed.", _HINT) from error
        except subprocess.TimeoutExpired as error:
            message = f"Git needs more than {SECONDS:.0f} seconds to look at the project's files."
            raise SetupError(message, _HINT) from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason"]
            raise SetupError(f"Git cannot look at the project's files: {said[-1]}.", _HINT)
        return os.fsdecode(done.stdout)


_HINT = "Run `ralph doctor`; it looks for git."


def _tasks_of(points: Iterable[Point]) -> dict[int, tuple[str, str]]:
    return {point.iteration: (point.task_id, point.run) for point in points}


class _TemporaryIndex:
    """An index beside the one of the snapshots, removed at the end."""

    def __init__(self, git_dir: Path) -> None:
        self._path = git_dir / f"copy-{os.getpid()}-{os.urandom(4).hex()}.index"

    def __enter__(self) -> dict[str, str]:
        return {"GIT_INDEX_FILE": str(self._path)}

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)


class UndoPlan(NamedTuple):
    """What has to change to undo iterations, and the paths that somebody changed since."""

    changed: Mapping[str, Content | None]
    conflicts: tuple[str, ...]


def plan_undo(current: Mapping[str, Content], undone: Iterable[Sequence[Difference]]) -> UndoPlan:
    """Return how the files must change so that these iterations never happened. Pure.

    A path is undone only where it still is as the iteration left it; a path that already is as it was before
    stays so, because an undo that was cut off is repeated.

    Args:
        current: What each path holds now.
        undone: What each iteration changed, the newest first.
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
    return UndoPlan(changed, tuple(conflicts))
