"""Taskmaster's tasks.json: tags, subtasks, ids of all kinds, what was cancelled."""

import json
from typing import Any

import pytest

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
