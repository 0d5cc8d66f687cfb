"""The rows of the task board: a task's group and lines, and which task is next. Pure functions."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from rich.cells import cell_len

from ralph_tui.domain.plan.plan import Task, TaskStatus, complete_ids
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import RESTING, LoopView, RunState
from ralph_tui.present.board.columns import BESIDE_TITLES, most_board
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, crop_words, row, width_of, wrap


class Group(StrEnum):
    """The groups of the board, in the order shown. The values are the words on the screen."""

    WORKING = "in progress"
    READY = "ready"
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "blocked"
    DONE = "done"


LOOK_OF_GROUP = {
    Group.WORKING: ("current", Tone.ACCENT),
    Group.READY: ("ready", Tone.INFO),
    Group.WAITING: ("waiting", Tone.MUTED),
    Group.HELD: ("pause", Tone.WARN),
    Group.BLOCKED: ("blocked", Tone.BAD),
    Group.DONE: ("ok", Tone.OK),
}


class BoardRow(NamedTuple):
    """One row: the heading of a group (without a task), a line of a task's title, or an extra line of a task."""

    group: Group
    task: Task | None = None
    extra: str = ""
    size: int = 0
    folded: bool = False
    title: str = ""
    """The part of the title on this row; empty for the whole title."""
    part: int = 0


def group_of(task: Task, done: set[str] | frozenset[str]) -> Group:
    if task.status is TaskStatus.IN_PROGRESS:
        return Group.WORKING
    if task.status is TaskStatus.COMPLETE:
        return Group.DONE
    if task.status is TaskStatus.BLOCKED:
        return Group.BLOCKED
    if task.held:
        return Group.HELD
    return Group.READY if done.issuperset(task.dependencies) else Group.WAITING


COST_FROM = 36
"""The width of the board from which costs are shown."""

_NO_PLAN_BY_PHASE = {
    Phase.DISCOVERY: "No plan yet. Discovery comes first.",
    Phase.PLANNING: "No plan yet. Ralph is planning now.",
}


def why_empty(view: LoopView) -> str:
    """Return why the board has no tasks, or an empty string until the project is read."""
    if not view.is_known:
        return ""
    resting = view.run_state in RESTING
    return (
        "No plan yet." if resting else _NO_PLAN_BY_PHASE.get(view.phase, "The plan has no tasks.")
    )


SIGN = 4
"""Cells of a task's sign and the spaces around it."""


def wanted_cells(tasks: Iterable[Task], width: int) -> int:
    """Return the cells that the board needs to show each title on one line, up to its maximum."""
    most, widest = most_board(width), 0
    for task in tasks:
        right = width_of(_right_spans(Group.READY, task, COST_FROM))
        title = _cells_before_title(task) + cell_len(task.title) + (right + 1 if right else 0)
        widest = max(widest, title + BESIDE_TITLES)
        if widest >= most:
            return most
    return widest


def title_parts(group: Group, task: Task, width: int, *, whole: bool = False) -> list[str]:
    """Return the title of a task as the lines to show.

    Args:
        width: Cells of a row; 0 for rows that are never folded.
        whole: Whether there is room for all titles. If not, complete tasks take one line, others at most two.
    """
    title = task.title
    right = width_of(_right_spans(group, task, width))
    room = width - _cells_before_title(task) - (right + 1 if right else 0)
    stays_short = group is Group.DONE and not whole
    if stays_short or room < _MIN_FOLDED_TITLE or cell_len(title) <= room:
        return [title]
    first, *rest = wrap(title, room)
    return [first, *rest] if whole else [first, " ".join(rest)]


_MIN_FOLDED_TITLE = 12
"""Titles are folded only if they have this many cells, because a second line would add little otherwise."""


def _cells_before_title(task: Task) -> int:
    return SIGN + cell_len(task.id) + 2


def _right_spans(group: Group, task: Task, width: int) -> list[Span]:
    own = task.model if task.model and group is not Group.DONE else ""
    right = [Span(f"  {own}", Tone.INFO)] if own else []
    if group is Group.DONE and (word := task.basis_word) != TaskStatus.COMPLETE:
        right.append(Span(f"  {word}", Tone.WARN if task.is_unverified else Tone.INFO))
    if task.actual_cost_usd and width >= COST_FROM:
        right.append(Span(f"  {money(task.actual_cost_usd)}", Tone.MUTED))
    return right


def board_line(item: BoardRow, width: int, glyphs: Glyphs) -> Line:
    sign, tone = LOOK_OF_GROUP[item.group]
    if item.task is None:
        fold = [Span(f"{glyphs.chevron} ", Tone.MUTED)] if item.folded else []
        count = f"  {item.size:,}{' hidden' if item.folded else ''}"
        return [*fold, Span(item.group.value, Tone.TITLE), Span(count, Tone.MUTED)]
    if item.extra:
        tone = Tone.BAD if item.group is Group.BLOCKED else Tone.MUTED
        return row([Span(f"{' ' * SIGN}{item.extra}", tone)], [], width, cut=crop_words)
    quiet = item.group in (Group.DONE, Group.WAITING, Group.HELD)
    title = Span(item.title or item.task.title, Tone.MUTED if quiet else Tone.TEXT)
    if item.part:
        return row([Span(" " * _cells_before_title(item.task)), title], [], width, cut=crop_words)
    if item.task.is_unverified:
        sign, tone = "warning", Tone.WARN
    left = [
        Span(f"  {getattr(glyphs, sign)} ", tone),
        Span(f"{item.task.id}  ", Tone.MUTED if quiet else Tone.INFO),
        title,
    ]
    return row(left, _right_spans(item.group, item.task, width), width, cut=crop_words)


NO_PLAN = "There is no plan to build."
LOOK_BACK = "Press {iterations} for changes, {memory} for the report, {history} for costs"
_HOW_TO_BEGIN = "Press {request} to describe what to build, or {add} to add a task."


def next_task(tasks: Iterable[Task]) -> Task | None:
    """Return the task that a run would build first: a ready one, or one that a killed run left in progress."""
    every = list(tasks)
    done = complete_ids(every)
    ready = (task for task in every if group_of(task, done) in (Group.READY, Group.WORKING))
    return min(ready, key=lambda task: task.priority, default=None)


def group_sizes(tasks: Iterable[Task]) -> dict[Group, int]:
    every = list(tasks)
    done = complete_ids(every)
    sizes = dict.fromkeys(Group, 0)
    for task in every:
        sizes[group_of(task, done)] += 1
    return sizes


def nothing_ready(sizes: Mapping[Group, int]) -> tuple[str, str]:
    """Return why no task is ready, and advice that names keys."""
    held, blocked = sizes[Group.HELD], sizes[Group.BLOCKED]
    if not (held or blocked or sizes[Group.WAITING]):
        return "Every task is complete.", f"{LOOK_BACK}, {{request}} for a new request."
    left = "No task is ready. The rest are {}, or depend on tasks that are."
    if not held:
        advice = "Edit the plan, or select a blocked task and press {retry} to retry it."
        return left.format("blocked"), advice
    if not blocked:
        return left.format("held"), "Select a held task and press {hold} to release it."
    advice = "Press {detail} on a task to release or retry it from its menu."
    return left.format("held or blocked"), advice


def why_not_build(view: LoopView, request: str | None) -> str:
    """Return why a run would end immediately, with names of keys, or an empty string. An unknown request is None."""
    if not view.is_known or next_task(view.tasks.values()) is not None:
        return ""
    is_planned = view.phase is Phase.BUILDING and view.tasks.complete < len(view.tasks)
    if view.run_state is not RunState.COMPLETE and (
        request is None or (request and not is_planned)
    ):
        return ""
    if not view.tasks:
        return f"{NO_PLAN} {_HOW_TO_BEGIN}"
    return " ".join(nothing_ready(group_sizes(view.tasks.values())))
