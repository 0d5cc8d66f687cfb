"""Snapshot the project's files in a Git directory of ralph's own: a task's changes, and a clean copy.

The project's repository is never touched, and none is needed: objects, index and configuration are in
ralph's own directory outside the work tree. Git keeps track of what changed since the last snapshot, so a
snapshot of 20,000 unchanged files takes milliseconds. What the project's .gitignore names is left out.
"""

import hashlib
import os
import subprocess
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.engine.core.project_tree import NOT_THE_PROJECT
from ralph_tui.store.backup.mirror import mirror_of

SECONDS = 60.0
"""Seconds for one Git command; the first snapshot reads every file."""

MOST_DIFF = 60_000
"""The most characters of a diff."""

WORKERS_NOTES = ("MEMORY.md", "progress.txt", "progress.txt.1")
"""Files in which a worker reports on its own work; a reviewer must not see them."""

_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=true", "core.autocrlf=false",
    "core.bigFileThreshold=1m", "core.compression=0", "gc.auto=0", "advice.addEmbeddedRepo=false",
)  # fmt: skip


class WorkSnapshots:
    """Compares the project's files at two moments. Every method blocks."""

    def __init__(self, root: Path) -> None:
        """Watch the project at `root`; write nothing before the first snapshot."""
        self._root = root
        self._git_dir = mirror_of(root) / "work.git"

    def begin(self, task_id: str) -> None:
        """Snapshot the files when work on a task begins, unless there is a snapshot already.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        if not self._tree_at(task_id):
            self._git("update-ref", _ref(task_id), self.take())

    def forget(self, task_id: str) -> None:
        """Drop a task's snapshot."""
        if (self._git_dir / "HEAD").is_file():
            self._git("update-ref", "-d", _ref(task_id))

    def take(self) -> str:
        """Snapshot the current files; return the id of the tree.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        self._prepare()
        self._git("add", "--all", "--", ".")
        return self._git("write-tree").strip()

    def changes(self, task_id: str, now: str) -> str:
        """Return the diff from a task's beginning to the tree `now`, or an empty string without a snapshot."""
        before = self._tree_at(task_id)
        if not before:
            return ""
        form = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
        stat = self._git("diff", *form, "--stat=120", before, now)
        text = self._git("diff", *form, before, now)
        if len(text) > MOST_DIFF:
            text = (
                f"{text[:MOST_DIFF]}\n(cut here, after {MOST_DIFF:,} of {len(text):,} characters)\n"
            )
        return f"{stat}\n{text}".strip()

    def copy_to(self, tree: str, directory: Path) -> None:
        """Write the files of a tree into an empty directory."""
        index = {"GIT_INDEX_FILE": str(self._git_dir / f"copy-{os.getpid()}.index")}
        try:
            self._git("read-tree", tree, extra=index)
            self._git("checkout-index", "--all", f"--prefix={directory}/", extra=index)
        finally:
            Path(index["GIT_INDEX_FILE"]).unlink(missing_ok=True)

    def _prepare(self) -> None:
        if (self._git_dir / "HEAD").is_file():
            return
        self._git_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._run("init", "--quiet", "--bare", str(self._git_dir))
        left_out = (*sorted(NOT_THE_PROJECT), *(f"/{name}" for name in WORKERS_NOTES))
        info = self._git_dir / "info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_text("\n".join(left_out) + "\n", encoding="utf-8")

    def _tree_at(self, task_id: str) -> str:
        if not (self._git_dir / "HEAD").is_file():
            return ""
        found = self._git("for-each-ref", "--format=%(objectname)", _ref(task_id))
        return found.strip()

    def _git(self, *arguments: str, extra: dict[str, str] | None = None) -> str:
        places = (f"--git-dir={self._git_dir}", f"--work-tree={self._root}")
        settings = (word for setting in _SETTINGS for word in ("-c", setting))
        return self._run(*places, *settings, *arguments, extra=extra)

    def _run(self, *arguments: str, extra: dict[str, str] | None = None) -> str:
        inherited = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                ["git", *arguments],
                cwd=self._root,
                env=inherited | own | (extra or {}),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise SetupError("A review needs Git, and it is not installed.", _HINT) from error
        except subprocess.TimeoutExpired as error:
            message = f"Git needs more than {SECONDS:.0f} seconds to look at the project's files."
            raise SetupError(message, _HINT) from error
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason"]
            raise SetupError(f"Git cannot look at the project's files: {said[-1]}.", _HINT)
        return done.stdout.decode("utf-8", "replace")


_HINT = "Put that right, or set phases.building.review to off."


def _ref(task_id: str) -> str:
    """Return a name that Git accepts, whatever the task's id is."""
    return f"refs/tasks/{hashlib.sha256(task_id.encode()).hexdigest()[:32]}"
