"""The drawing of a plan shows its dependencies, and no others, to a reader who only follows the lines."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import Task, work_order
from ralph_tui.present.board.plan_graph import graph_blocks, lanes
from ralph_tui.present.text.glyphs import ASCII, UNICODE, Glyphs
from ralph_tui.present.text.spans import plain

Edge = tuple[str, str]

SIGN = "*"
"""Stands for the sign of a task, which is another one in every status."""

UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)
LINES = {
    "│": (UP, DOWN),
    "─": (LEFT, RIGHT),
    "└": (UP, RIGHT),
    "┘": (UP, LEFT),
    "├": (UP, DOWN, RIGHT),
    "┤": (UP, DOWN, LEFT),
    "┴": (UP, LEFT, RIGHT),
    "┼": (UP, DOWN, LEFT, RIGHT),
    "|": (UP, DOWN),
    "-": (LEFT, RIGHT),
    "`": (UP, RIGHT),
    "'": (UP, LEFT, RIGHT),
    "+": (UP, DOWN, LEFT, RIGHT),
}
"""Where each sign of a line leads to. In ASCII, one sign may lead to where no line goes on."""


def picture(order: Sequence[Task], most: int, glyphs: Glyphs) -> list[str]:
    return [before + SIGN + after[1:] for _, before, after in lanes(order, most, glyphs)]


def at(drawn: Sequence[str], row: int, column: int) -> str:
    inside = 0 <= row < len(drawn) and 0 <= column < len(drawn[row])
    return drawn[row][column] if inside else " "


def sources(drawn: Sequence[str], row: int, column: int, way: tuple[int, int]) -> Iterator[int]:
    """Rows of the tasks that a line leads to, seen from a task or a joint; lines are never followed down."""
    row, column = row + way[0], column + way[1]
    sign = at(drawn, row, column)
    if sign == SIGN:
        if way == UP:
            yield row
        return
    back = (-way[0], -way[1])
    crosses = sign in "│|" and way in (LEFT, RIGHT)
    if not crosses and back not in LINES.get(sign, ()):
        return
    if way == UP or crosses or sign in "─-":
        yield from sources(drawn, row, column, way)
        return
    yield from sources(drawn, row, column, UP)
    if way in LINES[sign]:
        yield from sources(drawn, row, column, way)


def edges(order: Sequence[Task], drawn: Sequence[str]) -> set[Edge]:
    """Every task with those it is joined to by a line from above or from the side."""
    found = set()
    for row, task in enumerate(order):
        column = drawn[row].index(SIGN)
        ways = [way for way in (LEFT, RIGHT) if at(drawn, row, column + way[1]) in "─-"]
        if at(drawn, row - 1, column) not in (SIGN, " "):
            ways.append(UP)
        found |= {
            (order[source].id, task.id)
            for way in ways
            for source in sources(drawn, row, column, way)
        }
    return found


@st.composite
def plans(draw: st.DrawFn) -> list[Task]:
    count = draw(st.integers(1, 14))
    needs = st.lists(st.integers(0, count), max_size=4, unique=True)
    return [
        Task(id=f"t{n}", dependencies=tuple(f"t{dep}" for dep in draw(needs))) for n in range(count)
    ]


@given(plans(), st.sampled_from([UNICODE, ASCII]))
def test_the_lines_are_the_dependencies(tasks: list[Task], glyphs: Glyphs) -> None:
    order = work_order(tasks)
    place = {task.id: n for n, task in enumerate(order)}
    expected = {
        (dep, task.id)
        for task in order
        for dep in task.dependencies
        if dep in place and place[dep] < place[task.id]
    }
    drawn = picture(order, 100, glyphs)
    assert edges(order, drawn) == expected, "\n".join(drawn)


@given(plans(), st.integers(1, 4), st.sampled_from([UNICODE, ASCII]))
def test_without_room_lines_are_left_out_and_none_is_made_up(
    tasks: list[Task], most: int, glyphs: Glyphs
) -> None:
    order = work_order(tasks)
    planned = {(dep, task.id) for task in order for dep in task.dependencies}
    drawn = picture(order, most, glyphs)
    assert edges(order, drawn) <= planned, "\n".join(drawn)
    assert max(map(len, drawn)) <= 2 * (most + 1)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_a_chain_has_lines_and_a_list_has_none(glyphs: Glyphs) -> None:
    chain = [Task(id="a"), Task(id="b", dependencies=("a",)), Task(id="c", dependencies=("b",))]
    listed = [Task(id=name) for name in "abc"]
    assert [line.rstrip() for line in picture(listed, 9, glyphs)] == [SIGN] * 3
    assert not edges(listed, picture(listed, 9, glyphs))
    assert edges(chain, picture(chain, 9, glyphs)) == {("a", "b"), ("b", "c")}


def test_titles_begin_below_each_other() -> None:
    tasks = [Task(id="a"), Task(id="b", dependencies=("a",)), Task(id="c")]
    blocks = graph_blocks(work_order(tasks), {t.id: t for t in tasks}, 60, UNICODE)
    lines = [plain(line) for block in blocks for line in block.lines]
    assert {lines[n].index(name) for n, name in enumerate("abc")} == {lines[0].index("a")}
