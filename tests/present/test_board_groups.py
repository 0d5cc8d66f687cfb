"""The board follows a plan that changes task by task; what has not changed costs nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import MOST_NEWS, Tasks, tasks_of
from ralph_tui.present.board.board_groups import ALL, Grouping
from ralph_tui.present.board.board_rows import Group, group_of

IDS = [f"t{n}" for n in range(8)]

CHANGES = st.builds(
    Task,
    id=st.sampled_from(IDS),
    description=st.sampled_from(["short", "a title that needs two lines of this board"]),
    priority=st.integers(1, 3),
    status=st.sampled_from(list(TaskStatus)),
    dependencies=st.lists(st.sampled_from(IDS), max_size=2).map(tuple),
    blockers=st.sampled_from([(), ("needs a person",)]),
    retry_count=st.integers(0, 1),
    held=st.booleans(),
)


def grouped(tasks: Tasks, only: str = ALL) -> Grouping:
    """A board that is too narrow for some titles."""
    board = Grouping(only=only)
    board.width = 30
    board.follow(tasks)
    return board


def test_what_was_done_is_told_whole_once_all_of_it_is_done() -> None:
    long = "a title that needs two lines of this board"
    done = Task(id="t0", description=long, status=TaskStatus.COMPLETE)
    tasks = tasks_of([done, Task(id="t1", description=long)])
    board = grouped(tasks)
    assert [row.part for row in board if row.group is Group.DONE] == [0, 0]
    board.follow(tasks.having(Task(id="t1", description=long, status=TaskStatus.COMPLETE)))
    assert [row.part for row in board] == [0, 0, 1, 0, 1]
    assert "".join(row.title for row in board if row.task == done).replace(" ", "") == long.replace(
        " ", ""
    )


@given(st.lists(CHANGES, max_size=8), st.lists(st.lists(CHANGES, max_size=4), max_size=6))
@example(
    [Task(id="t0", status=TaskStatus.COMPLETE), Task(id="t1", dependencies=("t0",))],
    [[Task(id="t0")]],
)
def test_a_board_that_followed_is_like_one_that_began_anew(
    first: list[Task], rounds: list[list[Task]]
) -> None:
    tasks = tasks_of(first)
    followed = grouped(tasks)
    for changes in rounds:
        for task in changes:
            tasks = tasks.having(task)
        followed.follow(tasks)
        for only in followed.filters():
            followed.only = only
            fresh = grouped(tasks_of(tasks.values()), only)
            rows = list(fresh)
            assert list(followed) == rows == [followed[y] for y in range(len(followed))]
            assert fresh.filters() == followed.filters()
            places = {row.task.id: y for y, row in enumerate(rows) if row.task and not row.part}
            assert {name: followed.where(name) for name in places} == places
        followed.only = ALL


@given(st.lists(CHANGES, max_size=8), st.lists(CHANGES, max_size=8))
def test_tasks_that_change_are_the_mapping_they_stand_for(
    first: list[Task], changes: list[Task]
) -> None:
    tasks, plain = tasks_of(first), {task.id: task for task in first}
    for task in changes:
        before, tasks = tasks, tasks.having(task)
        plain = {**plain, task.id: task}
        assert tasks == plain
        assert list(tasks.items()) == list(plain.items())
        assert tasks.complete == sum(t.status is TaskStatus.COMPLETE for t in plain.values())
        expected = None if task.id not in before else [task] if before[task.id] != task else []
        assert tasks.changed_since(before) == expected
    assert tasks.told_anew(task.model_copy() for task in plain.values()) == plain


def _many(count: int) -> Tasks:
    return tasks_of(Task(id=f"t{n}", dependencies=(f"t{n - 1}",) * (n > 0)) for n in range(count))


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []

    def counted(task: Task, done: set[str]) -> Group:
        made.append(task.id)
        return group_of(task, done)

    monkeypatch.setattr("ralph_tui.present.board.board_groups.group_of", counted)
    return made


@pytest.mark.parametrize("count", [100, 2_000])
def test_of_many_tasks_only_those_that_move_are_grouped(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = _many(count)
    board = Grouping(tasks)
    made = _counted(monkeypatch)
    for number in range(2 * MOST_NEWS):  # past the point where all of them are copied
        done = number % 50
        tasks = tasks.having(Task(id=f"t{done}", status=_status(number)))
        board.follow(tasks)
    assert len(made) <= 2 * 2 * MOST_NEWS, "each task, and the one that waits for it"
    made.clear()
    board.follow(tasks.told_anew(task.model_copy() for task in tasks.values()))
    assert not made, "the same plan was read again"


def _status(number: int) -> TaskStatus:
    return TaskStatus.COMPLETE if number % 3 else TaskStatus.IN_PROGRESS
