"""For every format that can be written: what was read is written back byte for byte, and one task changes one flag."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import ImportOptions, Source, Writable
from ralph_tui.interop.json_plans import PRD_FORMAT, WIGGUM_FORMAT
from tests.interop.samples import json_texts, values, words

NAME = "plan.json"
FORMATS: dict[str, Writable] = {"prd": PRD_FORMAT, "wiggum": WIGGUM_FORMAT}
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
def files(draw: st.DrawFn) -> tuple[str, str]:
    ids = draw(st.lists(words().filter(str.strip), min_size=1, max_size=4, unique=True))
    name = draw(st.sampled_from(sorted(FORMATS)))
    return name, draw(json_texts(draw({"prd": stories, "wiggum": go_tasks}[name](ids))))


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
        else:
            assert (told.status is TaskStatus.COMPLETE) == (now is TaskStatus.COMPLETE)
