"""Draws the plan as a graph: one line per task in the order of work, with lanes to what needs it.

    ○    1 Package
    ├─○  2 Titles
    ○ │  3 Numbers
    └─○  4 Command

Every edge is a line from one sign to another. Signs below each other without a line are not joined. Pure functions.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from ralph_tui.domain.plan.plan import Task, needing
from ralph_tui.present.board.board_rows import complete_ids, group_of, look_of_group
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LazyLines, LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, crop_fair, row, width_of

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
"""Ways out of a cell, as `Glyphs.joints` counts them."""


MOST = 500
"""Tasks that are drawn at the most; nobody reads a graph of more."""


def graph_blocks(
    order: Sequence[Task], tasks: Mapping[str, Task], width: int, glyphs: Glyphs
) -> list[LineBlock]:
    """Draw every task with its lanes, and in words what it waits for where there is room.

    Args:
        order: The `work_order` of the tasks, which takes longer to find than the drawing.
        tasks: Every task by id.
        width: Cells of a line.
        glyphs: The signs to draw with.
    """
    done = complete_ids(tasks.values())
    drawn = list(lanes(order[:MOST], max(4, width // 8), glyphs))
    widest = max((len(before + after) for _, before, after in drawn), default=0)

    def line(task: Task, before: str, after: str) -> list[Line]:
        name, tone = look_of_group(group_of(task, done))
        after = after.ljust(widest - len(before))
        left = [
            Span(before, Tone.FAINT),
            Span(getattr(glyphs, name), tone),
            Span(f"{after[1:]} ", Tone.FAINT),  # the sign is in its own lane's cell
        ]
        room = width - width_of(left)
        said = [Span(f"{task.id}  ", Tone.INFO), Span(task.title)]
        right = _after(task, tasks, room)
        return [row([*left, *said], right, width, glyphs.ellipsis, crop_fair)]

    blocks = [LineBlock(one[0].id, LazyLines(partial(line, *one)), folds=False) for one in drawn]
    if len(order) > MOST:
        text = f"{len(order) - MOST:,} more tasks; the list has them all"
        blocks.append(LineBlock(None, [[Span(text, Tone.MUTED)]]))
    return blocks or [LineBlock(None, [[Span("The plan is empty", Tone.MUTED)]])]


def _after(task: Task, tasks: Mapping[str, Task], room: int) -> Line:
    missing = [dep for dep in task.dependencies if dep not in tasks]
    if missing:
        return [Span(f"  {', '.join(missing)} is not in the plan", Tone.BAD)]
    if not task.dependencies or room < 50:
        return []
    return [Span(f"  after {', '.join(task.dependencies)}", Tone.MUTED)]


def lanes(order: Sequence[Task], most: int, glyphs: Glyphs) -> Iterator[tuple[Task, str, str]]:
    """Yield each task with what is drawn left and right of its sign, in at most `most` lanes."""
    owners: list[str] = []
    """The task each lane comes from; empty where a lane is free."""
    open_ends = {task_id: len(others) for task_id, others in needing(order).items()}
    before = ""
    for task in order:
        needed = set(task.dependencies)
        joined = [at for at, owner in enumerate(owners) if owner and owner in needed]
        for dep in needed:
            open_ends[dep] -= 1
        ending = [at for at in joined if not open_ends[owners[at]]]
        free = owners.index("") if "" in owners else len(owners)
        # Straight below the task before it, this one would be joined to it without a line.
        straight = (at for at in ending if owners[at] != before)
        node = next(straight, free)
        cells = _cells(owners, node, joined, ending)
        yield task, _drawn(cells[:node], glyphs), _drawn(cells[node:], glyphs)
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
    """Find for each lane the ways out of its cell and of the gap right of it."""
    low, high = min((node, *joined)), max((node, *joined))
    cells = []
    for at in range(max(len(owners), node + 1)):
        ways = 0
        if at in joined:
            ways = _UP | (0 if at in ending else _DOWN)
            ways |= (_LEFT if at > low else 0) | (_RIGHT if at < high else 0)
        elif at < len(owners) and owners[at]:
            ways = _UP | _DOWN  # a crossing line is drawn below it
        elif low < at < high:
            ways = _LEFT | _RIGHT
        cells.append((ways, _LEFT | _RIGHT if low <= at < high else 0))
    return cells


def _drawn(cells: Sequence[tuple[int, int]], glyphs: Glyphs) -> str:
    return "".join(glyphs.joints[ways] + glyphs.joints[gap] for ways, gap in cells)
