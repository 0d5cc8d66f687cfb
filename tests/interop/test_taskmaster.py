"""Taskmaster's tasks.json: tags, subtasks, ids of all kinds, what was cancelled."""

import json
from typing import Any

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source
from ralph_tui.interop.taskmaster import Taskmaster

NAME = ".taskmaster/tasks/tasks.json"


def task(id_: object, **more: Any) -> dict[str, Any]:
    plain = {
        "id": id_,
        "title": f"do {id_}",
        "status": "pending",
        "dependencies": [],
        "subtasks": [],
    }
    return {**plain, **more}


def read(value: object, tag: str = "") -> Imported:
    source = Source(NAME, json.dumps(value, indent=2))
    return formats().detect(source).read(source, ImportOptions(tag=tag))


TREE = {
    "tasks": [
        task(1, priority="high", description="What.", details="How.", testStrategy="Look."),
        task(
            2,
            title="Second",
            description="About it.",
            dependencies=[1],
            priority="low",
            testStrategy="All of it.",
            subtasks=[
                task(1, testStrategy=""),
                task(2, dependencies=[1], priority="medium"),
                task(3, dependencies=["2.2"], status="done"),
            ],
        ),
        task(3, dependencies=[2]),
        task(4, status="deferred"),
        task(5, status="blocked"),
    ]
}


def test_a_task_is_its_subtasks() -> None:
    got = read(TREE)
    by_id = {made.id: made for made in got.tasks}
    assert list(by_id) == ["1", "2.1", "2.2", "2.3", "3", "4", "5"]
    assert by_id["1"].description == "do 1\n\nWhat.\n\nHow."
    assert by_id["1"].verification_criteria == ("Look.",)
    assert by_id["2.1"].dependencies == ("1",)
    assert by_id["2.2"].dependencies == ("2.1", "1")
    assert by_id["2.3"].dependencies == ("2.2", "1")
    assert by_id["3"].dependencies == ("2.1", "2.2", "2.3")
    assert [by_id[i].priority for i in ("1", "2.1", "2.2")] == [1, 3, 2]
    assert by_id["2.1"].group == "2 Second"
    assert (
        by_id["2.1"].notes
        == "Part of 2 Second: About it.\nHow the whole task is tested: All of it."
    )
    assert by_id["2.3"].status is TaskStatus.COMPLETE
    assert by_id["4"].is_held
    assert by_id["5"].status is TaskStatus.BLOCKED


def test_by_group_a_task_is_one_task() -> None:
    source = Source(NAME, json.dumps(TREE))
    got = Taskmaster().read(source, ImportOptions(by="group"))
    assert [made.id for made in got.tasks] == ["1", "2-second", "3", "4", "5"]


def test_what_was_cancelled_is_left_out_with_its_subtasks() -> None:
    got = read(
        {
            "tasks": [
                task(1, status="cancelled", subtasks=[task(1)]),
                task(2, dependencies=[1]),
                task(3, subtasks=[task(1, status="cancelled")]),
            ]
        }
    )
    assert [made.id for made in got.tasks] == ["2", "3"]
    assert [(out.id, out.reason) for out in got.left_out] == [
        ("1", "cancelled"),
        ("1.1", "cancelled"),
        ("3.1", "cancelled"),
    ]
    assert "2 on 1" in got.remarks[0]


def test_a_task_that_is_done_has_done_subtasks() -> None:
    value = {"tasks": [task(1, status="done", subtasks=[task(1), task(2, status="done")])]}
    got = read(value)
    assert {made.status for made in got.tasks} == {TaskStatus.COMPLETE}
    assert got.remarks[0].startswith("1.1: not done")


def test_ids_are_texts_or_numbers_and_subtasks_may_carry_the_whole_one() -> None:
    got = read(
        {
            "tasks": [
                task(
                    "AUTH-1",
                    subtasks=[task("AUTH-1.1"), task("AUTH-1.2", dependencies=["AUTH-1.1"])],
                ),
                task(2, dependencies=["AUTH-1.2", "AUTH-1"]),
            ]
        }
    )
    assert [made.id for made in got.tasks] == ["AUTH-1.1", "AUTH-1.2", "2"]
    assert got.tasks[1].dependencies == ("AUTH-1.1",)
    assert got.tasks[2].dependencies == ("AUTH-1.2", "AUTH-1.1")


def test_a_dotted_number_keeps_its_zero() -> None:
    source = Source(
        NAME,
        '{"tasks": [{"id": 1, "title": "a", "status": "pending", "dependencies": [2.10], "subtasks": []},'
        '{"id": 2, "title": "b", "status": "pending", "dependencies": [], "subtasks": ['
        '{"id": 1, "title": "c", "status": "pending"}, {"id": 10, "title": "d", "status": "pending"}]}]}',
    )
    got = Taskmaster().read(source, ImportOptions())
    assert got.tasks[0].dependencies == ("2.10",)


TAGS = {
    "master": {"tasks": [task(1)], "metadata": {"description": "The main work."}},
    "login": {"tasks": [task(1), task(2, dependencies=[1])]},
}


def test_the_main_tag_is_read_unless_another_is_named() -> None:
    got = read(TAGS)
    assert [made.id for made in got.tasks] == ["1"]
    assert got.description == "The main work."
    assert got.remarks == ("Tag 'master' was read. Choose another one with `--tag`: login.",)
    other = read(TAGS, tag="login")
    assert [made.id for made in other.tasks] == ["login:1", "login:2"]
    assert other.tasks[1].dependencies == ("login:1",)
    assert (other.title, other.remarks) == ("login", ())
    assert (set(got.unread), set(other.unread)) == ({"login:1", "login:2"}, {"1"})


@pytest.mark.parametrize(
    ("value", "tag", "what"),
    [
        (TAGS, "nope", "there is no tag 'nope'"),
        ({"a": TAGS["login"], "b": TAGS["login"]}, "", "it has several tags"),
        (TREE, "a", "the file has no tags"),
        ({"tasks": [task(1, status="someday")]}, "", "'status' is 'someday'"),
        (
            {"tasks": [task(1, dependencies=[9])]},
            "",
            "'1' depends on '9', which is not in the file",
        ),
        (
            {"tasks": [task(1, dependencies=[2]), task(2, dependencies=[1])]},
            "",
            "in a cycle: 1 → 2 → 1",
        ),
        ({"tasks": [task(1, subtasks=[task(1), task(1)])]}, "", "the ID '1.1' is used twice"),
        ({"tasks": [task(1), task("1")]}, "", "the ID '1' is used twice"),
        ({"tasks": [task("")]}, "", "a task has no 'id'"),
        ({"tasks": [task(1, subtasks="none")]}, "", "'subtasks' is text, not a list"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(value: object, tag: str, what: str) -> None:
    with pytest.raises(InteropError) as told:
        read(value, tag)
    assert what in told.value.what
    assert told.value.line > 0


def test_a_cycle_through_a_task_and_its_subtask_is_none() -> None:
    got = read({"tasks": [task(1, subtasks=[task(1, dependencies=["1"])], dependencies=[])]})
    assert got.tasks[0].dependencies == ()
