"""For every format that can be written: what was read is written back byte for byte, and one task changes one flag."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.interop.beads import Beads
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import ImportOptions, Source, Writable
from ralph_tui.interop.json_plans import Prd, Wiggum
from ralph_tui.interop.taskmaster import Taskmaster
from tests.interop.samples import json_texts, values, words

NAME = "plan.json"
FORMATS: dict[str, Writable] = {
    "prd": Prd(),
    "wiggum": Wiggum(),
    "taskmaster": Taskmaster(),
    "beads": Beads(),
}
TITLES = words().filter(str.strip)


@st.composite
def stories(draw: st.DrawFn, ids: list[str]) -> Any:
    made = [
        {
            "id": id_,
            "title": draw(TITLES),
            "passes": draw(st.booleans()),
            **draw(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "description": words(),
                        "acceptanceCriteria": st.lists(TITLES, max_size=3),
                        "priority": st.integers(0, 9) | st.sampled_from(["high", "P2"]),
                        "dependsOn": st.just(ids[:index]),
                        "notes": words() | st.none(),
                        "extra": values(),
                    },
                )
            ),
        }
        for index, id_ in enumerate(ids)
    ]
    return {"project": draw(words()), "userStories": made, "metadata": {"x": draw(values())}}


@st.composite
def go_tasks(draw: st.DrawFn, ids: list[str]) -> Any:
    status = st.sampled_from(["todo", "done", "failed", "in_progress", "DONE"])
    made = [
        {
            "id": id_,
            "title": draw(TITLES),
            "details": draw(words()),
            **draw(
                st.fixed_dictionaries(
                    {},
                    optional={
                        "status": status,
                        "tests": TITLES,
                        "priority": st.sampled_from(["high", "medium", "low"]),
                    },
                )
            ),
        }
        for id_ in ids
    ]
    return {"version": 1, "tasks": made}


@st.composite
def tagged(draw: st.DrawFn, ids: list[str]) -> Any:
    status = st.sampled_from(
        ["pending", "done", "in-progress", "blocked", "deferred", "review", "cancelled"]
    )

    def task(id_: object, subtasks: list[Any]) -> Any:
        return {
            "id": id_,
            "title": draw(TITLES),
            "status": draw(status),
            "testStrategy": draw(words()),
            "dependencies": [],
            "subtasks": subtasks,
        }

    made = [task(id_, [task(n, []) for n in range(draw(st.integers(0, 3)))]) for id_ in ids]
    keeper = task("the one that stays", [])
    keeper["status"] = "pending"
    return {"master": {"tasks": [*made, keeper]}, "other": {"tasks": [task(1, [])]}}


@st.composite
def issues(draw: st.DrawFn, ids: list[str]) -> Any:
    status = st.sampled_from(["open", "closed", "in_progress", "blocked", "tombstone", "odd"])
    return [
        {
            "id": id_,
            "title": draw(TITLES),
            "issue_type": "task",
            "status": "open" if index == 0 else draw(status),
            "description": draw(words()),
            "priority": draw(st.integers(0, 4)),
            "dependencies": [{"depends_on_id": dep, "type": "blocks"} for dep in ids[:index]],
        }
        for index, id_ in enumerate(ids)
    ]


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str]:
    ids = draw(st.lists(words().filter(str.strip), min_size=1, max_size=4, unique=True))
    name = draw(st.sampled_from(sorted(FORMATS)))
    value = draw(
        {"prd": stories, "wiggum": go_tasks, "taskmaster": tagged, "beads": issues}[name](ids)
    )
    if name == "beads" and draw(st.booleans()):
        end = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
        return name, end.join(json.dumps(each, ensure_ascii=draw(st.booleans())) for each in value)
    return name, draw(json_texts(value))


def read(name: str, text: str) -> tuple[Source, ImplementationPlan]:
    source = Source(NAME, text)
    assert formats().detect(source).name == name
    return source, ImplementationPlan(tasks=FORMATS[name].read(source, ImportOptions()).tasks)


@given(files(), st.data())
def test_completing_one_task_changes_exactly_its_flag(
    file: tuple[str, str], data: st.DataObject
) -> None:
    name, text = file
    source, plan = read(name, text)
    assert FORMATS[name].write(plan, source) == text
    grouped = FORMATS[name].read(source, ImportOptions(by="group")).tasks
    assert FORMATS[name].write(ImplementationPlan(tasks=grouped), source) == text
    chosen: Task = data.draw(st.sampled_from(plan.tasks))
    now = TaskStatus.COMPLETE if chosen.status is not TaskStatus.COMPLETE else TaskStatus.PENDING
    changed = FORMATS[name].write(plan.with_task(chosen.id, status=now), source)
    start = next(
        (i for i, (a, b) in enumerate(zip(text, changed, strict=False)) if a != b), len(text)
    )
    end = next(
        (
            i
            for i, (a, b) in enumerate(
                zip(reversed(text[start:]), reversed(changed[start:]), strict=False)
            )
            if a != b
        ),
        min(len(text), len(changed)) - start,
    )
    gone, new = text[start : len(text) - end], changed[start : len(changed) - end]
    # Values and words of states share letters, so what differs may be less than a word, and never more than one.
    assert len(gone) <= len('"in-progress"')
    assert len(new) <= len(',  "status": "pending"') + 12
    before, after = read(name, text)[1].tasks, read(name, changed)[1].tasks
    for old, told in zip(before, after, strict=True):
        assert old.origin == told.origin
        if old.id != chosen.id:
            assert old == told
        elif not _forced(name, text, chosen):
            assert (told.status is TaskStatus.COMPLETE) == (now is TaskStatus.COMPLETE)


def _forced(name: str, text: str, task: Task) -> bool:
    """Return whether a subtask is done because the task above it is."""
    if name != "taskmaster" or not task.group:
        return False
    tasks = json.loads(text)["master"]["tasks"]
    ids = [str(each["id"]) for each in tasks if each["status"] == "done"]
    assert task.origin is not None
    return any(task.origin.id.startswith(f"{id_}.") for id_ in ids)
