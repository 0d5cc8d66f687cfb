"""Everything known of one task."""

from ralph_tui.domain.plan import Task
from ralph_tui.domain.view import LoopView
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.task import task_parts
from ralph_tui.tui.screens.parts import PartsReader


class TaskDetail(PartsReader):
    """Description, criteria with their receipts, dependencies both ways, why, tries, notes."""

    def __init__(self, task: Task, view: LoopView) -> None:
        """Show a task as the view has it now."""
        super().__init__()
        self._task_id = task.id
        self._shown = task
        self._view = view

    def reader_title(self) -> str:
        """The task's id."""
        return f"task {self._task_id}"

    def blocks(self) -> list[Part]:
        """One per aspect."""
        return task_parts(self._shown, self._view, self.app.glyphs)
