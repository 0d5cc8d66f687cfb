"""The task board."""

from collections.abc import Mapping

from textual.content import Content
from textual.reactive import var

from ralph_tui.domain.plan import Task, TaskStatus
from ralph_tui.domain.verification import criterion_text
from ralph_tui.tui.render.board import ALL, BoardRow, board_line, board_rows, filters
from ralph_tui.tui.render.spans import Line, Span, Tone, wrap
from ralph_tui.tui.widgets.rows import Key, Row
from ralph_tui.tui.widgets.searched import Searched


class Board(Searched):
    """Tasks by group; the selected task stays selected and in its place when others move."""

    tasks: var[Mapping[str, Task]] = var({}, init=False, always_update=True)
    why_empty: var[str] = var("", init=False)
    """What is said where there is no task."""
    only: var[str] = var(ALL, init=False)
    """Which tasks are shown."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._items: list[BoardRow] = []
        self._where: dict[str, int] = {}

    def on_mount(self) -> None:
        """Name the pane."""
        self.border_title = "tasks"

    def row_count(self) -> int:
        """Headings, tasks and their second lines."""
        return len(self._items) or len(self._said())

    def row_at(self, y: int) -> Row:
        """Headings cannot be selected."""
        if not self._items:
            return (None, y)
        item = self._items[y]
        return (item.task.id if item.task else None, 1 if item.extra else 0)

    def row_of(self, key: Key) -> int | None:
        """Where a task is now."""
        return self._where.get(key) if isinstance(key, str) else None

    def row_line(self, y: int, width: int) -> Line:
        """A heading, a task, or what it waits for; what all wait for when there is no task."""
        if not self._items:
            return [Span(self._said()[y], Tone.MUTED)]
        return board_line(self._items[y], width, self.app.glyphs)

    def _said(self) -> list[str]:
        text = f"No task is {self.only} now." if self.tasks else self.why_empty
        return wrap(text, self.row_width) if text else []

    def watch_why_empty(self) -> None:
        """Seen only where there is no task."""
        if not self._items:
            self.resize_rows()
            self.forget_rows()

    def sift(self) -> str:
        """The next filter, round and round; its name."""
        names = filters(self.tasks.values())
        at = names.index(self.only) if self.only in names else 0
        self.only = names[(at + 1) % len(names)]
        return self.only

    def watch_only(self, only: str) -> None:
        """The pane's title says that something is left out."""
        self.border_title = "tasks" if only == ALL else f"tasks: {only}"
        self.watch_tasks(self.tasks)
        if self.cursor is None:
            self.action_cursor(1)

    def watch_tasks(self, tasks: Mapping[str, Task]) -> None:
        """Regroup; keep the cursor's row at the same height on the screen."""
        before = self.row_of(self.cursor) if self.cursor is not None else None
        top = self.scroll_offset.y
        visible = before is not None and top <= before < top + self.size.height
        self._items = board_rows(tasks, self.only)
        self._where = {}
        for y, item in enumerate(self._items):
            if item.task is not None:
                self._where.setdefault(item.task.id, y)
        if self.cursor is not None and self.cursor not in self._where:
            self.cursor = None
        self.resize_rows()
        after = self.row_of(self.cursor) if self.cursor is not None else None
        if visible and before is not None and after is not None and after != before:
            self.scroll_to(
                y=max(0, top + after - before), animate=False, force=True, immediate=True
            )
        done = sum(1 for task in tasks.values() if task.status is TaskStatus.COMPLETE)
        self.border_subtitle = Content(f"{done:,} of {len(tasks):,} done" if tasks else "")
        self.forget_rows()

    def keys_holding(self, words: str) -> list[str]:
        """Tasks whose id, text, criteria or blockers have the words."""
        wanted = words.casefold()
        return [key for key in self._where if wanted in _text(self.tasks[key]).casefold()]

    def on_resize(self) -> None:
        """The width decides where titles are cut."""
        self.resize_rows()
        self.forget_rows()

    @property
    def selected(self) -> Task | None:
        """The task under the cursor."""
        return self.tasks.get(self.cursor) if isinstance(self.cursor, str) else None


def _text(task: Task) -> str:
    criteria = (criterion_text(criterion) for criterion in task.verification_criteria)
    words = (task.id, task.description, task.status.value.replace("_", " "), task.completion_notes)
    return "\n".join((*(word or "" for word in words), *criteria, *task.blockers))
