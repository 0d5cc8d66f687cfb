"""Everything known of one task, and what comes to be known while it is read."""

import asyncio

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.tui.doing import do
from ralph_tui.tui.library import Library, TaskPast
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.spans import Span, Tone
from ralph_tui.tui.render.task import task_parts
from ralph_tui.tui.screens.parts import PartsReader


class TaskDetail(PartsReader):
    """Description, criteria with their receipts, dependencies both ways, why, tries, notes."""

    def __init__(self, task: Task, view: LoopView, library: Library) -> None:
        """Show a task as the view has it; the past is read from the journal."""
        super().__init__()
        self._shown = task
        self._view = view
        self._library = library
        self._past: TaskPast | None = None
        self._trouble = ""

    def reader_title(self) -> str:
        """The task's id."""
        return f"task {self._shown.id}"

    def blocks(self) -> list[Part]:
        """One per aspect."""
        parts = task_parts(self._shown, self._view, self._past, self.app.glyphs)
        if self._trouble:
            parts.append(Part("Tries so far", [[Span(self._trouble, Tone.BAD)]]))
        return parts

    def on_mount(self) -> None:
        """Follow the loop, and look back."""
        super().on_mount()
        self.watch(self.app, "view", self._follow, init=True)  # it may have changed since Enter
        self._look_back()

    def _follow(self, view: LoopView) -> None:
        """A task that was dropped stays as it was last."""
        ended = view.iterations != self._view.iterations
        self._view, self._shown = view, view.tasks.get(self._shown.id, self._shown)
        if ended:
            self._look_back()
        self.show_again()

    def _look_back(self) -> None:
        do(self, self._read(), "past", exclusive=True)

    async def _read(self) -> None:
        try:
            self._past = await asyncio.to_thread(self._library.task_past, self._shown.id)
            self._trouble = ""
        except RalphError as error:
            self._past, self._trouble = None, one_line(str(error))
        self.show_again()
