"""The preview and the result of an undo, the same for every face."""

from enum import StrEnum

from ralph_tui.domain.base import Count, Model


class UndoneHow(StrEnum):
    """What an undo does to a file."""

    RESTORE = "restore"
    """The file gets its earlier content."""
    REMOVE = "remove"
    """The file was new."""
    BRING_BACK = "bring back"
    """The file had been deleted."""


class UndoneFile(Model):
    """A file that an undo changes, with line counts."""

    path: str
    how: UndoneHow
    additions: Count = 0
    deletions: Count = 0


class UndoPreview(Model):
    """What the undo of a task or an iteration would do."""

    wanted: str
    """The task or iteration to undo, as the person typed it."""
    task_id: str
    title: str
    iterations: tuple[int, ...]
    files: tuple[UndoneFile, ...] = ()
    commits_to: str = ""
    """The branch that gets a commit with the undo; empty if nothing is committed."""
    whole: bool = True
    """Whether all work on the task is undone, rather than one iteration of several."""
    current: str = ""
    """The project's git tree when the preview was made."""
    target: str = ""
    """The project's git tree after the undo."""

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


class Undone(Model):
    """A completed undo."""

    preview: UndoPreview
    commit: str = ""
    """The commit of the undo; empty if nothing was committed."""
