"""Makes the rows of the task board: the group of a task, its line, and which task is next. Pure functions."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from rich.cells import cell_len

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import RESTING, LoopView, RunState
from ralph_tui.present.board.columns import BESIDE_TITLES, most_board
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, crop_fair, row, width_of, wrap


class Group(StrEnum):
    """Where a task is; the values are the words on the screen, in the order shown."""

    WORKING = "in progress"
    READY = "ready"
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "blocked"
    DONE = "done"


_LOOK = {
    Group.WORKING: ("current", Tone.ACCENT),
    Group.READY: ("ready", Tone.INFO),
    Group.WAITING: ("waiting", Tone.MUTED),
    Group.HELD: ("pause", Tone.WARN),
    Group.BLOCKED: ("blocked", Tone.BAD),
    Group.DONE: ("ok", Tone.OK),
}


def look_of_group(group: Group) -> tuple[str, Tone]:
    """Return the name of the sign and the tone of a group."""
    return _LOOK[group]


class BoardRow(NamedTuple):
    """One row: the heading of a group (no task), a line of a task's title, or what a task waits for."""

    group: Group
    task: Task | None = None
    extra: str = ""
    size: int = 0
    folded: bool = False
    """Of a heading: its tasks are hidden."""
    title: str = ""
    """What this row shows of the title; empty for the whole."""
    part: int = 0
    """Which row of its task it is."""


def group_of(task: Task, done: set[str] | frozenset[str]) -> Group:
    """Tell the group of a task, given the ids that are complete."""
    if task.status is TaskStatus.IN_PROGRESS:
        return Group.WORKING
    if task.status is TaskStatus.COMPLETE:
        return Group.DONE
    if task.status is TaskStatus.BLOCKED:
        return Group.BLOCKED
    if task.held:
        return Group.HELD
    return Group.READY if done.issuperset(task.dependencies) else Group.WAITING


def complete_ids(tasks: Iterable[Task]) -> frozenset[str]:
    """Collect the ids of the complete tasks."""
    return frozenset(t.id for t in tasks if t.status is TaskStatus.COMPLETE)


COST_FROM = 36
"""Cells from which a board has room for the cost of each task."""

_BEFORE_A_PLAN = {
    Phase.DISCOVERY: "No plan yet; discovery comes first.",
    Phase.PLANNING: "No plan yet; planning makes it now.",
}


def why_empty(view: LoopView) -> str:
    """Say what a board without tasks waits for; nothing before the project is read."""
    if not view.is_known:
        return ""
    resting = view.run_state in RESTING
    return "No plan yet." if resting else _BEFORE_A_PLAN.get(view.phase, "The plan has no tasks.")


SIGN = 4
"""Cells of a task's sign, with the spaces around it."""


def title_cells(task: Task) -> int:
    """Return how wide a board shows the whole of a task in one line."""
    beside = width_of(_right(Group.READY, task, COST_FROM))
    return _before_title(task) + cell_len(task.title) + (beside + 1 if beside else 0)


def wanted_cells(tasks: Iterable[Task], width: int) -> int:
    """Return how many cells the board wants of a screen: those in which each title fits into one line.

    The search ends at the most that the board may have.
    """
    most, widest = most_board(width), 0
    for task in tasks:
        widest = max(widest, title_cells(task) + BESIDE_TITLES)
        if widest >= most:
            return most
    return widest


def title_parts(group: Group, task: Task, width: int, *, all_done: bool = False) -> list[str]:
    """Return the title in one line, or in two where one is too short.

    Args:
        group: Where the task is; what is done stays in one line while other tasks are open.
        task: The task.
        width: Cells of a row; 0 for rows that are never folded.
        all_done: Whether no task is open, so that there is room for all of what was done.
    """
    title, before = task.title, _before_title(task)
    beside = width_of(_right(group, task, width))
    room = width - before - (beside + 1 if beside else 0)
    quiet = group is Group.DONE and not all_done
    if quiet or room < _LEAST or cell_len(title) <= room:
        return [title]
    first, *rest = wrap(title, room)
    return [first, " ".join(rest)]


_LEAST = 12
"""Cells that a title needs to be folded; in fewer a second line would not say much more."""


def _before_title(task: Task) -> int:
    return SIGN + cell_len(task.id) + 2


def _right(group: Group, task: Task, width: int) -> list[Span]:
    """Return what is right of a title: the task's own model, that nothing verified it, the cost."""
    own = task.model if task.model and group is not Group.DONE else ""
    right = [Span(f"  {own}", Tone.INFO)] if own else []
    if task.is_unverified:
        right.append(Span("  unverified", Tone.WARN))
    if task.actual_cost_usd and width >= COST_FROM:
        right.append(Span(f"  {money(task.actual_cost_usd)}", Tone.MUTED))
    return right


def board_line(item: BoardRow, width: int, glyphs: Glyphs) -> Line:
    """Draw one row in `width` cells."""
    name, tone = _LOOK[item.group]
    if item.task is None:
        fold = [Span(f"{glyphs.chevron} ", Tone.MUTED)] if item.folded else []
        count = f"  {item.size:,}{' hidden' if item.folded else ''}"
        return [*fold, Span(item.group.value, Tone.TITLE), Span(count, Tone.MUTED)]
    if item.extra:
        tone = Tone.BAD if item.group is Group.BLOCKED else Tone.MUTED
        return row([Span(f"{' ' * SIGN}{item.extra}", tone)], [], width, cut=crop_fair)
    quiet = item.group in (Group.DONE, Group.WAITING, Group.HELD)
    title = Span(item.title or item.task.title, Tone.MUTED if quiet else Tone.TEXT)
    if item.part:
        return row([Span(" " * _before_title(item.task)), title], [], width, cut=crop_fair)
    if item.task.is_unverified:
        name, tone = "warning", Tone.WARN
    left = [
        Span(f"  {getattr(glyphs, name)} ", tone),
        Span(f"{item.task.id}  ", Tone.MUTED if quiet else Tone.INFO),
        title,
    ]
    return row(left, _right(item.group, item.task, width), width, cut=crop_fair)


NO_PLAN = "There is no plan to build."
LOOK_BACK = (
    "{iterations} has the changes of each iteration, {memory} the report, {history} the cost."
)
_BEGIN = "Press {request} and say what to build, or {add} to add a task."


def next_task(tasks: Iterable[Task]) -> Task | None:
    """Find the task that is built first: a ready one, or one that a killed run left in progress."""
    every = list(tasks)
    done = complete_ids(every)
    ready = (task for task in every if group_of(task, done) in (Group.READY, Group.WORKING))
    return min(ready, key=lambda task: task.priority, default=None)


def sizes_of(tasks: Iterable[Task]) -> dict[Group, int]:
    """Count the tasks of each group."""
    every = list(tasks)
    done = complete_ids(every)
    sizes = dict.fromkeys(Group, 0)
    for task in every:
        sizes[group_of(task, done)] += 1
    return sizes


def nothing_ready(sizes: Mapping[Group, int]) -> tuple[str, str]:
    """Say what is left, and what can be done about it; the second text names keys."""
    held, blocked = sizes[Group.HELD], sizes[Group.BLOCKED]
    if not (held or blocked or sizes[Group.WAITING]):
        return "Every task is complete.", f"Press {{request}} to ask for more. {LOOK_BACK}"
    left = "No task is ready: what is left is {} or waits for something that is."
    if not held:
        advice = "Edit the plan, or select a blocked task and press {retry} to retry it."
        return left.format("blocked"), advice
    if not blocked:
        return left.format("held"), "Select a held task and press {hold} to release it."
    advice = "Press {detail} on a task: its menu releases a held one and retries a blocked one."
    return left.format("held, blocked"), advice


def why_not_build(view: LoopView, request: str | None) -> str:
    """Say why a run would end at once, in a sentence that names keys; empty when there is work.

    `request` is what was asked for and is not done yet; None while that is not known.
    """
    unread = not view.is_known
    if unread or next_task(view.tasks.values()) is not None or _goes_on(view, request):
        return ""
    if not view.tasks:
        return f"{NO_PLAN} {_BEGIN}"
    return " ".join(nothing_ready(sizes_of(view.tasks.values())))


def _goes_on(view: LoopView, request: str | None) -> bool:
    """Tell whether there is work without a task: to ask, to plan, to check what was built."""
    if view.run_state is RunState.COMPLETE:
        return False
    built = view.tasks.complete == len(view.tasks)  # or not planned yet
    return request is None or (bool(request) and (view.phase is not Phase.BUILDING or built))
