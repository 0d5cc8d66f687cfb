"""Keeps the tasks of the board by group; when one changes, only it and what waits for it move."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.present.board.board_rows import BoardRow, Group, board_line, group_of, title_parts
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import EXPORT_WIDTH, plain

ALL, OPEN = "all", "open"
"""Filters of the board; every group is a filter too, by its word."""

_BY_PRIORITY = (Group.READY, Group.WAITING, Group.HELD)
"""Groups sorted by priority, as the loop takes tasks; the others keep the order of the plan."""


def passes(group: Group, only: str) -> bool:
    """Tell whether a filter lets a group through."""
    return only == ALL or (group is not Group.DONE if only == OPEN else group.value == only)


class Grouping:
    """Keeps the rows that a filter shows, headings included, while the plan changes."""

    def __init__(self, tasks: Tasks | None = None, only: str = ALL) -> None:
        """Group these tasks."""
        self.only = only
        """The filter."""
        self.folded: frozenset[Group] = frozenset()
        """Groups whose tasks are hidden under their heading."""
        self.width = 0
        """Cells of a row, which decide where a title takes two lines; at 0 each takes one."""
        self._tasks = Tasks()
        self._done: set[str] = set()
        self._needing: dict[str, set[str]] = {}
        """By id, who waits for it, or did once."""
        self._at: dict[str, int] = {}
        self._group: dict[str, Group] = {}
        self._rows: dict[Group, list[BoardRow]] = {group: [] for group in Group}
        self._sizes = dict.fromkeys(Group, 0)
        if tasks is not None:
            self.follow(tasks)

    def follow(self, tasks: Tasks) -> None:
        """Take over the plan as it is now."""
        changed = tasks.changed_since(self._tasks)
        if changed is None or _all_done(tasks) != _all_done(self._tasks):
            self._begin(tasks)
        else:
            moving = {task.id: task for task in (*changed, *self._waking(changed))}
            for task_id in moving:
                self._take_out(self._tasks[task_id])
            for task in moving.values():
                self._put_in(task)
        self._tasks = tasks

    def lay_out(self, width: int) -> None:
        """Make the rows for another width."""
        self.width = width
        self._begin(self._tasks)

    def _begin(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._done = {t.id for t in tasks.values() if t.status is TaskStatus.COMPLETE}
        self._at = {task_id: at for at, task_id in enumerate(tasks)}
        self._group = {task.id: group_of(task, self._done) for task in tasks.values()}
        self._needing = {}
        for task in tasks.values():
            self._note_needs(task)
        members: dict[Group, list[Task]] = {group: [] for group in Group}
        for task, group in zip(tasks.values(), self._group.values(), strict=True):
            members[group].append(task)
        for group, inside in members.items():
            if group in _BY_PRIORITY:
                inside.sort(key=lambda task: task.priority)
            self._sizes[group] = len(inside)
            self._rows[group] = [row for task in inside for row in self._of(group, task)]

    def _waking(self, changed: Iterable[Task]) -> list[Task]:
        """Note what is complete now or no longer; return the tasks that wait for it, as they were."""
        flipped = {
            task.id
            for task in changed
            if (task.status is TaskStatus.COMPLETE) != (task.id in self._done)
        }
        self._done ^= flipped
        for task in changed:
            self._note_needs(task)
        changing = {task.id for task in changed}
        waking = {name for task_id in flipped for name in self._needing.get(task_id, ())}
        return [self._tasks[name] for name in waking - changing]

    def _note_needs(self, task: Task) -> None:
        for needed in task.dependencies:
            self._needing.setdefault(needed, set()).add(task.id)

    def _place(self, group: Group, task: Task | None) -> tuple[int, int]:
        if task is None:  # a heading comes first
            return (0, -1)
        return (task.priority if group in _BY_PRIORITY else 0, self._at[task.id])

    def _find(self, group: Group, task: Task, side: Callable[..., int] = bisect_left) -> int:
        """Find where the rows of a task begin in its group, or with `bisect_right` where they end."""
        wanted = self._place(group, task)
        return side(self._rows[group], wanted, key=lambda row: self._place(group, row.task))

    def _take_out(self, task: Task) -> None:
        group = self._group[task.id]
        start, end = self._find(group, task), self._find(group, task, bisect_right)
        del self._rows[group][start:end]
        self._sizes[group] -= 1

    def _put_in(self, task: Task) -> None:
        group = self._group[task.id] = group_of(task, self._done)
        start = self._find(group, task)
        self._rows[group][start:start] = self._of(group, task)
        self._sizes[group] += 1

    def _of(self, group: Group, task: Task) -> list[BoardRow]:
        titles = title_parts(group, task, self.width, all_done=_all_done(self._tasks))
        parts = enumerate(titles)
        rows = [BoardRow(group, task, title=text, part=part) for part, text in parts]
        if extra := _extra(group, task, self._done):
            rows.append(BoardRow(group, task, extra, part=len(rows)))
        return rows

    def filters(self) -> list[str]:
        """List the filters that show something, in the order in which they are offered."""
        return [ALL, OPEN, *(group.value for group in Group if self._sizes[group])]

    def __len__(self) -> int:
        return sum(1 + len(self._under(group)) for group in self._shown())

    def __iter__(self) -> Iterator[BoardRow]:
        for group in self._shown():
            yield self._heading(group)
            yield from self._under(group)

    def __getitem__(self, y: int) -> BoardRow:
        for group in self._shown():
            if y == 0:
                return self._heading(group)
            rows = self._under(group)
            if y <= len(rows):
                return rows[y - 1]
            y -= 1 + len(rows)
        raise IndexError(y)

    def hidden(self) -> Iterator[tuple[Group, Task]]:
        """Yield the tasks of the folded groups that the filter lets through."""
        for group in self._shown():
            if group in self.folded:
                yield from ((group, row.task) for row in self._rows[group] if row.task)

    def where(self, task_id: str) -> int | None:
        """Find the first row of a task; None when the filter or a fold hides it."""
        mine = self._group.get(task_id)
        heading = self.where_heading(mine) if mine is not None and mine not in self.folded else None
        if mine is None or heading is None:
            return None
        return heading + 1 + self._find(mine, self._tasks[task_id])

    def where_heading(self, wanted: Group) -> int | None:
        """Find the row of a group's heading; None when the filter does not show it."""
        y = 0
        for group in self._shown():
            if group is wanted:
                return y
            y += 1 + len(self._under(group))
        return None

    def _under(self, group: Group) -> list[BoardRow]:
        return [] if group in self.folded else self._rows[group]

    def _heading(self, group: Group) -> BoardRow:
        return BoardRow(group, size=self._sizes[group], folded=group in self.folded)

    def _shown(self) -> Iterator[Group]:
        return (group for group in Group if self._sizes[group] and passes(group, self.only))


def _all_done(tasks: Tasks) -> bool:
    return bool(tasks) and tasks.complete == len(tasks)


def _extra(group: Group, task: Task, done: set[str]) -> str:
    if group is Group.WAITING:
        return "waits for " + ", ".join(dep for dep in task.dependencies if dep not in done)
    if group is Group.BLOCKED:
        return "; ".join(task.blockers)
    if group is Group.DONE:
        return ""
    return plural(task.retry_count, "failed attempt") if task.retry_count else ""


def board_text(tasks: Tasks, glyphs: Glyphs, only: str = ALL) -> str:
    """Write the board as text, as it is filtered."""
    rows = (board_line(row, EXPORT_WIDTH, glyphs) for row in Grouping(tasks, only))
    return "\n".join(plain(line).rstrip() for line in rows) + "\n"
