"""The board follows a plan that changes task by task; what has not changed costs nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import MAX_UPDATES, Tasks, tasks_of
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


def grouped(tasks: Tasks, only: str = ALL, *, height: int = 0) -> Grouping:
    board = Grouping(only=only)
    board.lay_out(30, height)
    board.follow(tasks)
    return board


def test_titles_are_whole_as_long_as_all_rows_fit() -> None:
    long = "a long title that needs more than two lines of such a narrow board"
    done = Task(id="t0", description=long, status=TaskStatus.COMPLETE)
    tasks = tasks_of([done, Task(id="t1", description=long)])
    whole = grouped(tasks, height=100)
    for task_id in ("t0", "t1"):
        rows = [row for row in whole if row.task is not None and row.task.id == task_id]
        assert len(rows) > 2
        assert "".join(row.title for row in rows).replace(" ", "") == long.replace(" ", "")
    assert [row.part for row in grouped(tasks, height=len(whole))] == [row.part for row in whole]
    short = grouped(tasks, height=len(whole) - 1)
    assert [row.part for row in short] == [0, 0, 1, 0, 0]
    short.lay_out(30, 100)
    assert list(short) == list(whole)


@given(
    st.lists(CHANGES, max_size=8),
    st.lists(st.lists(CHANGES, max_size=4), max_size=6),
    st.sampled_from([0, 6, 12]),
)
@example(
    [Task(id="t0", status=TaskStatus.COMPLETE), Task(id="t1", dependencies=("t0",))],
    [[Task(id="t0")]],
    0,
)
def test_a_board_that_followed_is_like_one_that_began_anew(
    first: list[Task], rounds: list[list[Task]], height: int
) -> None:
    tasks = tasks_of(first)
    followed = grouped(tasks, height=height)
    for changes in rounds:
        for task in changes:
            tasks = tasks.with_task(task)
        followed.follow(tasks)
        for only in followed.filters():
            followed.only = only
            fresh = grouped(tasks_of(tasks.values()), only, height=height)
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
        before, tasks = tasks, tasks.with_task(task)
        plain = {**plain, task.id: task}
        assert tasks == plain
        assert list(tasks.items()) == list(plain.items())
        assert tasks.complete == sum(t.status is TaskStatus.COMPLETE for t in plain.values())
        expected = None if task.id not in before else [task] if before[task.id] != task else []
        assert tasks.changed_since(before) == expected
    assert tasks.refreshed(task.model_copy() for task in plain.values()) == plain


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
    tasks = tasks_of(Task(id=f"t{n}", dependencies=(f"t{n - 1}",) * (n > 0)) for n in range(count))
    board = Grouping(tasks)
    made = _counted(monkeypatch)
    for number in range(2 * MAX_UPDATES):  # past the point where all of them are copied
        done = number % 50
        tasks = tasks.with_task(Task(id=f"t{done}", status=_status(number)))
        board.follow(tasks)
    assert len(made) <= 2 * 2 * MAX_UPDATES, "each task, and the one that waits for it"
    made.clear()
    board.follow(tasks.refreshed(task.model_copy() for task in tasks.values()))
    assert not made, "the same plan was read again"


def _status(number: int) -> TaskStatus:
    return TaskStatus.COMPLETE if number % 3 else TaskStatus.IN_PROGRESS
