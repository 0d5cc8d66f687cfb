"""What an undo would change, and what it changed: the same for every face."""

from enum import StrEnum

from ralph_tui.domain.base import Count, Model


class UndoneHow(StrEnum):
    """What an undo does to a file."""

    RESTORE = "restore"
    """Back to what it held before."""
    REMOVE = "remove"
    """It was new."""
    BRING_BACK = "bring back"
    """It was deleted."""


class UndoneFile(Model):
    """A file that an undo changes, and by how many lines."""

    path: str
    how: UndoneHow
    additions: Count = 0
    deletions: Count = 0


class UndoPreview(Model):
    """What an undo of a task or an iteration would do."""

    wanted: str
    """What the person asked for, as they wrote it."""
    task_id: str
    title: str
    iterations: tuple[int, ...]
    files: tuple[UndoneFile, ...] = ()
    commits_to: str = ""
    """The branch that gets a new commit with it; empty when nothing is committed."""
    whole: bool = True
    """Whether all work on the task is undone, and not one iteration of several."""
    current: str = ""
    """The tree of the project when this was found out."""
    target: str = ""
    """The tree of the project afterwards."""

    @property
    def additions(self) -> int:
        """Lines that come back."""
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        """Lines that go."""
        return sum(file.deletions for file in self.files)


class Undone(Model):
    """What an undo has done."""

    preview: UndoPreview
    commit: str = ""
    """The commit that holds it; empty when nothing was committed."""
