"""Keep the tasks of the board in groups. When a task changes, only this task and its dependents move."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.present.board.board_rows import (
    SIGN,
    BoardRow,
    Group,
    board_line,
    group_of,
    title_parts,
)
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import EXPORT_WIDTH, plain, wrap

ALL, OPEN = "all", "open"
"""Filters of the board. The word of each group is a filter, too."""

_BY_PRIORITY = (Group.READY, Group.WAITING, Group.HELD)
"""Groups that are sorted by priority, like the loop's choice of tasks. The others keep the plan's order."""


def passes(group: Group, only: str) -> bool:
    return only == ALL or (group is not Group.DONE if only == OPEN else group.value == only)


class Grouping:
    """The visible rows of the board, including headings, kept up to date while the plan changes."""

    def __init__(self, tasks: Tasks | None = None, only: str = ALL) -> None:
        """Group `tasks`, and show only those that pass the filter `only`."""
        self.only = only
        """The filter."""
        self.folded: frozenset[Group] = frozenset()
        """Groups whose tasks are hidden under their heading."""
        self.width = 0
        """Cells of a row, which decide which titles take several lines; with 0, each takes one."""
        self.height = 0
        """Rows on the screen. If all tasks fit, their titles are shown whole."""
        self._shows_whole = False
        self._tasks = Tasks()
        self._done: set[str] = set()
        self._dependents: dict[str, set[str]] = {}
        """For each id, the tasks that depend on it, or once did."""
        self._position: dict[str, int] = {}
        self._group: dict[str, Group] = {}
        self._rows: dict[Group, list[BoardRow]] = {group: [] for group in Group}
        self._sizes = dict.fromkeys(Group, 0)
        if tasks is not None:
            self.follow(tasks)

    def follow(self, tasks: Tasks) -> None:
        changed = tasks.changed_since(self._tasks)
        if changed is None or len(tasks) <= self.height:
            self._rebuild(tasks)
        else:
            moving = {task.id: task for task in (*changed, *self._affected_dependents(changed))}
            for task_id in moving:
                self._remove(self._tasks[task_id])
            for task in moving.values():
                group = self._group[task.id] = group_of(task, self._done)
                start = self._find(group, task)
                self._rows[group][start:start] = self._rows_of(group, task)
                self._sizes[group] += 1
        self._tasks = tasks

    def lay_out(self, width: int, height: int) -> None:
        if (width, height) != (self.width, self.height):
            self.width, self.height = width, height
            self._rebuild(self._tasks)

    def _rebuild(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._done = {t.id for t in tasks.values() if t.status is TaskStatus.COMPLETE}
        self._position = {task_id: at for at, task_id in enumerate(tasks)}
        self._group = {task.id: group_of(task, self._done) for task in tasks.values()}
        self._dependents = {}
        for task in tasks.values():
            self._index_dependencies(task)
        self._shows_whole = self._has_room(tasks)
        members: dict[Group, list[Task]] = {group: [] for group in Group}
        for task, group in zip(tasks.values(), self._group.values(), strict=True):
            members[group].append(task)
        for group, inside in members.items():
            if group in _BY_PRIORITY:
                inside.sort(key=lambda task: task.priority)
            self._sizes[group] = len(inside)
            self._rows[group] = [row for task in inside for row in self._rows_of(group, task)]

    def _has_room(self, tasks: Tasks) -> bool:
        if not 0 < len(tasks) <= self.height:
            return False
        rows = len(set(self._group.values()))
        for task in tasks.values():
            group = self._group[task.id]
            rows += len(title_parts(group, task, self.width, whole=True))
            rows += len(self._extra_lines(group, task, whole=True))
        return rows <= self.height

    def _affected_dependents(self, changed: Iterable[Task]) -> list[Task]:
        flipped = {
            task.id
            for task in changed
            if (task.status is TaskStatus.COMPLETE) != (task.id in self._done)
        }
        self._done ^= flipped
        for task in changed:
            self._index_dependencies(task)
        dependents = {name for task_id in flipped for name in self._dependents.get(task_id, ())}
        return [self._tasks[name] for name in dependents - {task.id for task in changed}]

    def _index_dependencies(self, task: Task) -> None:
        for needed in task.dependencies:
            self._dependents.setdefault(needed, set()).add(task.id)

    def _sort_key(self, group: Group, task: Task | None) -> tuple[int, int]:
        if task is None:  # a heading comes first
            return (0, -1)
        return (task.priority if group in _BY_PRIORITY else 0, self._position[task.id])

    def _find(self, group: Group, task: Task, side: Callable[..., int] = bisect_left) -> int:
        wanted = self._sort_key(group, task)
        return side(self._rows[group], wanted, key=lambda row: self._sort_key(group, row.task))

    def _remove(self, task: Task) -> None:
        group = self._group[task.id]
        start, end = self._find(group, task), self._find(group, task, bisect_right)
        del self._rows[group][start:end]
        self._sizes[group] -= 1

    def _rows_of(self, group: Group, task: Task) -> list[BoardRow]:
        titles = title_parts(group, task, self.width, whole=self._shows_whole)
        parts = enumerate(titles)
        rows = [BoardRow(group, task, title=text, part=part) for part, text in parts]
        rows += [
            BoardRow(group, task, extra, part=part)
            for part, extra in enumerate(
                self._extra_lines(group, task, whole=self._shows_whole), len(rows)
            )
        ]
        return rows

    def _extra_lines(self, group: Group, task: Task, *, whole: bool) -> list[str]:
        extra = _extra_text(group, task, self._done)
        if not extra:
            return []
        return wrap(extra, self.width - SIGN) if whole and self.width > SIGN else [extra]

    def filters(self) -> list[str]:
        return [ALL, OPEN, *(group.value for group in Group if self._sizes[group])]

    def __len__(self) -> int:
        return sum(1 + len(self._visible_rows(group)) for group in self._visible_groups())

    def __iter__(self) -> Iterator[BoardRow]:
        for group in self._visible_groups():
            yield self._heading(group)
            yield from self._visible_rows(group)

    def __getitem__(self, y: int) -> BoardRow:
        for group in self._visible_groups():
            if y == 0:
                return self._heading(group)
            rows = self._visible_rows(group)
            if y <= len(rows):
                return rows[y - 1]
            y -= 1 + len(rows)
        raise IndexError(y)

    def hidden(self) -> Iterator[tuple[Group, Task]]:
        for group in self._visible_groups():
            if group in self.folded:
                yield from ((group, row.task) for row in self._rows[group] if row.task)

    def where(self, task_id: str) -> int | None:
        """Return the first row of a task, or None if the filter or a fold hides it."""
        group = self._group.get(task_id)
        if group is None or group in self.folded:
            return None
        heading = self.where_heading(group)
        return None if heading is None else heading + 1 + self._find(group, self._tasks[task_id])

    def where_heading(self, wanted: Group) -> int | None:
        y = 0
        for group in self._visible_groups():
            if group is wanted:
                return y
            y += 1 + len(self._visible_rows(group))
        return None

    def _visible_rows(self, group: Group) -> list[BoardRow]:
        return [] if group in self.folded else self._rows[group]

    def _heading(self, group: Group) -> BoardRow:
        return BoardRow(group, size=self._sizes[group], folded=group in self.folded)

    def _visible_groups(self) -> Iterator[Group]:
        return (group for group in Group if self._sizes[group] and passes(group, self.only))


def _extra_text(group: Group, task: Task, done: set[str]) -> str:
    if group is Group.WAITING:
        return "waits for " + ", ".join(dep for dep in task.dependencies if dep not in done)
    if group is Group.BLOCKED:
        return "; ".join(task.blockers)
    if group is Group.DONE:
        return ""
    return plural(task.retry_count, "failed attempt") if task.retry_count else ""


def board_text(tasks: Tasks, glyphs: Glyphs, only: str = ALL) -> str:
    rows = (board_line(row, EXPORT_WIDTH, glyphs) for row in Grouping(tasks, only))
    return "\n".join(plain(line).rstrip() for line in rows) + "\n"
