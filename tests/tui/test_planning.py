"""The plan at any time: drawn, changed, split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, work_order
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.present.board.plan_graph import graph_blocks
from ralph_tui.present.text.glyphs import ASCII, UNICODE
from ralph_tui.present.text.spans import plain, width_of
from ralph_tui.tui.screens.dialogs.edit_task import FieldError, TypedFields, parse_fields


def task(name: str, *needs: str) -> Task:
    return Task(id=name, description=f"Do {name}", dependencies=needs)


def drawn(*tasks: Task, width: int = 40) -> list[str]:
    blocks = graph_blocks(work_order(tasks), {t.id: t for t in tasks}, width, UNICODE)
    return [plain(line).rstrip() for block in blocks for line in block.lines]


def test_the_graph_joins_every_task_with_what_it_waits_for() -> None:
    assert drawn(task("1"), task("2", "1"), task("3", "1"), task("4", "2", "3")) == [
        "○    1  Do 1",
        "├─◌  2  Do 2",
        "◌ │  3  Do 3",
        "└─◌  4  Do 4",
    ]
    crossing = (task("1"), task("2"), task("3"), task("4", "1", "3"), task("5", "2", "1"))
    assert drawn(*crossing) == [
        "○        1  Do 1",
        "│ ○      2  Do 2",
        "│ │ ○    3  Do 3",
        "├─│─┴─◌  4  Do 4",
        "◌─┘      5  Do 5",
    ]


def test_circles_and_unknown_tasks_are_drawn_and_named() -> None:
    text = "\n".join(drawn(task("a", "b"), task("b", "a"), task("c", "ghost"), width=60))
    assert "ghost is not in the plan" in text
    assert text.count("Do ") == 3


PLANS = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.integers(0, 14), max_size=4)), max_size=15
).map(
    lambda made: [
        Task(id=f"t{n}", priority=p, dependencies=tuple(f"t{d}" for d in deps))
        for n, (p, deps) in enumerate(made)
    ]
)


@given(PLANS, st.integers(20, 100), st.sampled_from([UNICODE, ASCII]))
def test_any_plan_is_drawn_once_in_the_order_of_work(
    tasks: list[Task], width: int, glyphs: object
) -> None:
    order = work_order(tasks)
    assert sorted(t.id for t in order) == sorted(t.id for t in tasks)
    plan = ImplementationPlan(tasks=tuple(tasks))
    for expected in order:  # the loop itself, as long as it finds something to do
        chosen = plan.get_next_task()
        if chosen is None:
            break
        assert chosen.id == expected.id
        plan = plan.with_task(chosen.id, status=TaskStatus.COMPLETE)
    signs = ASCII if glyphs is ASCII else UNICODE
    for block in graph_blocks(work_order(tasks), {t.id: t for t in tasks}, width, signs):
        assert all(width_of(line) <= width for line in block.lines)


BEFORE = TypedFields("Do it", "tests", "a", "2", "30000", "")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, TaskFields()),
        ({"description": " Do it\n", "tokens": "30000"}, TaskFields()),
        ({"description": "\n "}, "description"),
        ({"priority": ""}, "priority"),
        ({"priority": "soon"}, "priority"),
        ({"priority": "1.5"}, "priority"),
        ({"priority": "9" * 5_000}, "priority"),
        ({"priority": " -1 "}, TaskFields(priority=-1)),
        ({"tokens": "-5"}, "tokens"),
        ({"tokens": "many"}, "tokens"),
        ({"tokens": "k"}, "tokens"),
        ({"tokens": "9" * 30}, "tokens"),
        ({"tokens": "45K"}, TaskFields(tokens=45_000)),
        ({"tokens": "45 000"}, TaskFields(tokens=45_000)),
        ({"tokens": "45,000"}, TaskFields(tokens=45_000)),
        ({"tokens": " "}, TaskFields(tokens=0)),
        ({"dependencies": "a,, b ,"}, TaskFields(dependencies=("a", "b"))),
        ({"criteria": "\n"}, TaskFields(criteria=())),
        ({"model": " opus "}, TaskFields(model="opus")),
    ],
)
def test_what_is_typed_is_meant_or_its_field_is_named(
    changes: dict[str, str], found: TaskFields | str
) -> None:
    means = parse_fields(BEFORE, BEFORE._replace(**changes))
    assert (means.field if isinstance(means, FieldError) else means) == found


def test_a_new_task_needs_a_description_and_nothing_else() -> None:
    assert isinstance(parse_fields(TypedFields(), TypedFields(priority="3")), FieldError)
    assert parse_fields(TypedFields(), TypedFields("Do it")) == TaskFields("Do it")
    wrong = parse_fields(TypedFields(), TypedFields("Do it", priority="soon"))
    assert isinstance(wrong, FieldError)
    assert wrong.field == "priority"
