"""Everything known of one task."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.domain.plan import Task
from ralph_tui.domain.view import LoopView
from ralph_tui.tui.render.spans import plain
from ralph_tui.tui.render.task import TaskPart, task_parts
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.widgets.lines import Lines


class TaskDetail(Reader):
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

    def _parts(self) -> list[TaskPart]:
        return task_parts(self._shown, self._view, self.app.glyphs)

    def parts(self) -> Iterable[Widget]:
        """One block per part."""
        for part in self._parts():
            yield Static(part.title, classes="section-title", markup=False)
            yield Lines(part.lines, classes="section")

    def copy_text(self) -> str:
        """Every part."""
        return "\n\n".join(
            "\n".join([part.title, *(plain(line) for line in part.lines)]) for part in self._parts()
        )
