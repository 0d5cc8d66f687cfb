"""Draw the plan as a graph: one line per task in work order, with lanes to the tasks that depend on it.

    ○    1 Package
    ├─○  2 Titles
    ○ │  3 Numbers
    └─○  4 Command

Every dependency is a line from one sign to another. Signs without a line between them are not connected.
Pure functions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from ralph_tui.domain.plan.plan import Task, complete_ids, needing
from ralph_tui.present.board.board_rows import LOOK_OF_GROUP, group_of
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LazyLines, LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, crop_words, row, width_of

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
"""The directions in which a line leaves a cell, as bits of an index into `Glyphs.joints`."""

MAX_TASKS = 500


def graph_blocks(
    order: Sequence[Task], tasks: Mapping[str, Task], width: int, glyphs: Glyphs
) -> list[LineBlock]:
    """Draw the tasks, which are in `work_order`, with their lanes and, if there is room, their dependencies in words."""
    done = complete_ids(tasks.values())
    drawn = list(lanes(order[:MAX_TASKS], max(4, width // 8), glyphs))
    widest = max((len(before + after) for _, before, after in drawn), default=0)

    def line(task: Task, before: str, after: str) -> list[Line]:
        sign, tone = LOOK_OF_GROUP[group_of(task, done)]
        after = after.ljust(widest - len(before))
        left = [
            Span(before, Tone.FAINT),
            Span(getattr(glyphs, sign), tone),
            Span(f"{after[1:]} ", Tone.FAINT),  # the sign replaces the first cell
        ]
        room = width - width_of(left)
        name_and_title = [Span(f"{task.id}  ", Tone.INFO), Span(task.title)]
        right = _dependency_note(task, tasks, room)
        return [row([*left, *name_and_title], right, width, glyphs.ellipsis, crop_words)]

    blocks = [LineBlock(one[0].id, LazyLines(partial(line, *one)), folds=False) for one in drawn]
    if len(order) > MAX_TASKS:
        text = f"{len(order) - MAX_TASKS:,} more tasks; the list has them all"
        blocks.append(LineBlock(None, [[Span(text, Tone.MUTED)]]))
    return blocks or [LineBlock(None, [[Span("The plan is empty", Tone.MUTED)]])]


def _dependency_note(task: Task, tasks: Mapping[str, Task], room: int) -> Line:
    missing = [dep for dep in task.dependencies if dep not in tasks]
    if missing:
        return [Span(f"  {', '.join(missing)} is not in the plan", Tone.BAD)]
    if not task.dependencies or room < 50:
        return []
    return [Span(f"  after {', '.join(task.dependencies)}", Tone.MUTED)]


def lanes(order: Sequence[Task], most: int, glyphs: Glyphs) -> Iterator[tuple[Task, str, str]]:
    """Yield each task with the lanes left and right of its sign, in at most `most` lanes."""
    owners: list[str] = []
    """The task from which each lane starts; empty if the lane is free."""
    open_ends = {task_id: len(others) for task_id, others in needing(order).items()}
    before = ""
    for task in order:
        needed = set(task.dependencies)
        joined = [at for at, owner in enumerate(owners) if owner and owner in needed]
        for dep in needed:
            open_ends[dep] -= 1
        ending = [at for at in joined if not open_ends[owners[at]]]
        free = owners.index("") if "" in owners else len(owners)
        # A sign directly below the previous task's would look connected to it.
        straight = (at for at in ending if owners[at] != before)
        node = next(straight, free)
        cells = _cells(owners, node, joined, ending)
        yield task, _lane_text(cells[:node], glyphs), _lane_text(cells[node:], glyphs)
        for at in ending:
            owners[at] = ""
        if node == len(owners) and node < most:
            owners.append("")
        if node < len(owners):
            owners[node] = task.id if open_ends.get(task.id) else ""
        while owners and not owners[-1]:
            owners.pop()
        before = task.id


def _cells(
    owners: Sequence[str], node: int, joined: Collection[int], ending: Collection[int]
) -> list[tuple[int, int]]:
    low, high = min((node, *joined)), max((node, *joined))
    cells = []
    for at in range(max(len(owners), node + 1)):
        ways = 0
        if at in joined:
            ways = _UP | (0 if at in ending else _DOWN)
            ways |= (_LEFT if at > low else 0) | (_RIGHT if at < high else 0)
        elif at < len(owners) and owners[at]:
            ways = _UP | _DOWN  # hides a line that crosses it
        elif low < at < high:
            ways = _LEFT | _RIGHT
        cells.append((ways, _LEFT | _RIGHT if low <= at < high else 0))
    return cells


def _lane_text(cells: Sequence[tuple[int, int]], glyphs: Glyphs) -> str:
    return "".join(glyphs.joints[ways] + glyphs.joints[gap] for ways, gap in cells)
