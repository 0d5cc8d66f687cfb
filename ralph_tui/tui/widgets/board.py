"""The task board, which shows tasks by group."""

from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.reactive import var

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.verification.verification import criterion_text
from ralph_tui.present.board.board_groups import ALL, Grouping
from ralph_tui.present.board.board_rows import Group, board_line
from ralph_tui.present.text.spans import Line, Span, Tone, wrap
from ralph_tui.tui.widgets.row_list import Key, Row, SearchableRows


class _Heading(NamedTuple):
    """The key of a folded heading, which can be selected."""

    group: Group


class Board(SearchableRows):
    """Shows tasks by group; the selected task stays selected and in place when others move.

    When the selected task is completed, or the person moves it to another group, the cursor stays in place, on the
    next task.
    """

    tasks: var[Tasks] = var(Tasks, init=False, always_update=True)
    why_empty: var[str] = var("", init=False)
    """The text shown if there is no task."""
    only: var[str] = var(ALL, init=False)
    """The name of the filter."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._items = Grouping()
        self._texts: dict[str, str] = {}
        """The searchable text of each task."""
        self._moving: str | None = None
        """The task that the person is moving to another group."""

    def on_mount(self) -> None:
        self.border_title = "tasks"

    def row_count(self) -> int:
        return len(self._items) or len(self._empty_text())

    def row_at(self, y: int) -> Row:
        """Return the task of a row; a heading can be selected only if it is folded."""
        if not self._items:
            return (None, y)
        item = self._items[y]
        if item.folded:
            return (_Heading(item.group), 0)
        return (item.task.id if item.task else None, item.part)

    def row_of(self, key: Key) -> int | None:
        """Return the first row of a task, or the row of a folded heading."""
        if isinstance(key, _Heading):
            folded = key.group in self._items.folded
            return self._items.where_heading(key.group) if folded else None
        return self._items.where(key) if isinstance(key, str) else None

    def row_line(self, y: int, width: int) -> Line:
        if not self._items:
            return [Span(self._empty_text()[y], Tone.MUTED)]
        return board_line(self._items[y], width, self.app.glyphs)

    def _empty_text(self) -> list[str]:
        text = f"No {self.only} tasks." if self.tasks else self.why_empty
        return wrap(text, self.row_width) if text else []

    def watch_why_empty(self) -> None:
        if not self._items:
            self.resize_rows()
            self.redraw_rows()

    def sift(self) -> str:
        names = self._items.filters()
        at = names.index(self.only) if self.only in names else 0
        self.only = names[(at + 1) % len(names)]
        return self.only

    def fold(self, y: int | None = None) -> bool:
        """Hide or show the tasks of a group; return whether there was one.

        Args:
            y: A row of the group; the cursor's row if omitted.
        """
        at = self.row_of(self.cursor) if y is None and self.cursor is not None else y
        if at is None or not 0 <= at < len(self._items):
            return False
        group = self._items[at].group
        self._items.folded ^= {group}
        heading = self._items.where_heading(group)
        if group in self._items.folded:
            self.cursor = _Heading(group)
        elif heading is not None:
            self.cursor = self.row_at(heading + 1)[0]
        self.resize_rows()
        self.redraw_rows()
        self.move_cursor(self.cursor)
        return True

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        y = offset.y + self.scroll_offset.y if offset else -1
        if 0 <= y < len(self._items) and self._items[y].task is None:
            event.prevent_default()
            self.fold(y)

    def watch_only(self, only: str) -> None:
        self.border_title = "tasks" if only == ALL else f"tasks: {only}"
        self.watch_tasks(self.tasks, self.tasks)
        if self.cursor is None:
            self.action_cursor(1)

    def expect_move(self, task_id: str | None) -> None:
        self._moving = task_id

    def watch_tasks(self, old: Tasks, tasks: Tasks) -> None:
        """Show the tasks; keep the cursor's row at the same place on the screen."""
        before = self.row_of(self.cursor) if self.cursor is not None else None
        successor = None if before is None else self._next_selection(before)
        top = self.scroll_offset.y
        visible = before is not None and top <= before < top + self.size.height
        self._items.only = self.only
        self._items.follow(tasks)
        self._texts = {}
        if before is not None and self._leaves_task(old, tasks):
            known = successor is not None and self.row_of(successor) is not None
            self.cursor = successor if known else self._at(before)
        if self._moving is not None and tasks.get(self._moving) != old.get(self._moving):
            self._moving = None
        after = self.row_of(self.cursor) if self.cursor is not None else None
        if after is None:
            self.cursor = None
        self.resize_rows()
        if visible and before is not None and after is not None and after != before:
            self.scroll_to(
                y=max(0, top + after - before), animate=False, force=True, immediate=True
            )
        done = f"{tasks.complete:,} of {len(tasks):,} done" if tasks else ""
        self.border_subtitle = Content(done)
        self.redraw_rows()

    def _leaves_task(self, old: Tasks, tasks: Tasks) -> bool:
        """Return whether the cursor leaves its task, because it is hidden, completed, or moved by the person."""
        key = self.cursor
        if key is None or self.row_of(key) is None:
            return True
        if not isinstance(key, str):
            return False
        was, now = old.get(key), tasks[key]
        done = TaskStatus.COMPLETE
        over = was is not None and now.status is done and was.status is not done
        return over or (key == self._moving and now != was)

    def _next_selection(self, y: int) -> Key | None:
        around = (self._next_key(y, 1), self._next_key(y, -1))
        keys = [key for key in around if key is not None]
        group = self._items[y].group
        rows = ((key, self.row_of(key)) for key in keys)
        same = (key for key, row in rows if row is not None and self._items[row].group is group)
        return next(same, next(iter(keys), None))

    def _at(self, y: int) -> Key | None:
        y = min(y, self.row_count() - 1)
        found = (self.row_at(y)[0] if y >= 0 else None, self._next_key(y, 1), self._next_key(y, -1))
        return next((key for key in found if key is not None), None)

    def keys_matching(self, words: str) -> list[str]:
        """Return the tasks whose id, text, criteria or blockers contain the words; unfold their groups."""
        wanted = words.casefold()
        hiding = {g for g, task in self._items.hidden() if wanted in self._words_of(task)}
        if wanted and hiding:
            self._items.folded -= hiding
            self.resize_rows()
            self.redraw_rows()
        shown = (row.task for row in self._items if row.task is not None and not row.part)
        return [task.id for task in shown if wanted in self._words_of(task)]

    def _words_of(self, task: Task) -> str:
        """Return a task's searchable text, cached because a search runs at every letter."""
        if task.id not in self._texts:
            self._texts[task.id] = _text(task).casefold()
        return self._texts[task.id]

    def on_resize(self) -> None:
        """Lay the rows out for the new size, because titles wrap."""
        self._items.lay_out(self.row_width, self.size.height)
        self.resize_rows()
        self.redraw_rows()

    @property
    def folded_group(self) -> Group | None:
        return self.cursor.group if isinstance(self.cursor, _Heading) else None

    @property
    def selected(self) -> Task | None:
        return self.tasks.get(self.cursor) if isinstance(self.cursor, str) else None


def _text(task: Task) -> str:
    criteria = (criterion_text(criterion) for criterion in task.verification_criteria)
    words = (task.id, task.description, task.status.value.replace("_", " "), task.completion_notes)
    return "\n".join((*(word or "" for word in words), *criteria, *task.blockers))
