"""Snapshot the project when work on a task begins: its changes for the reviewer, and a clean copy to look at."""

import hashlib
from pathlib import Path

from ralph_tui.engine.control.undo import snapshots_of

MOST_DIFF = 60_000
"""The most characters of a diff."""


class WorkSnapshots:
    """Compares the project's files at two moments. Every method blocks."""

    def __init__(self, root: Path) -> None:
        """Watch the project at `root`; write nothing before the first snapshot."""
        self._store = snapshots_of(root)

    def begin(self, task_id: str) -> None:
        """Snapshot the files when work on a task begins, unless there is a snapshot already.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        if not self._tree_at(task_id):
            self._store.git("update-ref", _ref(task_id), self.take())

    def forget(self, task_id: str) -> None:
        """Drop a task's snapshot."""
        if self._store.exists:
            self._store.git("update-ref", "-d", _ref(task_id))

    def take(self) -> str:
        """Snapshot the current files; return the id of the tree.

        Raises:
            SetupError: Git is missing or cannot read the project.
        """
        return self._store.take()

    def changes(self, task_id: str, now: str) -> str:
        """Return the diff from a task's beginning to the tree `now`, or an empty string without a snapshot."""
        before = self._tree_at(task_id)
        if not before:
            return ""
        form = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
        stat = self._store.git("diff", *form, "--stat=120", before, now)
        text = self._store.git("diff", *form, before, now)
        text = text.encode("utf-8", "replace").decode()
        if len(text) > MOST_DIFF:
            text = (
                f"{text[:MOST_DIFF]}\n(cut here, after {MOST_DIFF:,} of {len(text):,} characters)\n"
            )
        return f"{stat}\n{text}".strip()

    def copy_to(self, tree: str, directory: Path) -> None:
        """Write the files of a tree into an empty directory."""
        self._store.copy_to(tree, directory)

    def _tree_at(self, task_id: str) -> str:
        if not self._store.exists:
            return ""
        return self._store.git("for-each-ref", "--format=%(objectname)", _ref(task_id)).strip()


def _ref(task_id: str) -> str:
    """Return a name that Git accepts, whatever the task's id is."""
    return f"refs/tasks/{hashlib.sha256(task_id.encode()).hexdigest()[:32]}"
