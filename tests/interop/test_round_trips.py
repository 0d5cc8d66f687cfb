"""For every format that can be written: what was read is written back byte for byte, and one task changes one mark."""

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.plan.plan_validation import odd_id
from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import ImportOptions, Source, Writable
from tests.interop import markdown_samples
from tests.interop.samples import json_texts, values, words

NAME = "tasks.md"
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
def json_files(draw: st.DrawFn) -> tuple[str, str]:
    ids = draw(st.lists(words().filter(str.strip), min_size=1, max_size=4, unique=True))
    name = draw(st.sampled_from(["prd", "wiggum"]))
    return name, draw(json_texts(draw({"prd": stories, "wiggum": go_tasks}[name](ids))))


LETTERS = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="`<>-\u2028\u2029\x85")
WORDS = st.text(LETTERS, min_size=1, max_size=15).map(str.strip).filter(bool).map("w{}".format)
MARKS = st.sampled_from([" ", " ", "x", "X", "-", "\u00a0"])
BULLETS = st.sampled_from(["- ", "* ", "+ ", "1. ", "-\t"])
BELOW = st.lists(
    st.sampled_from(
        [
            ("  more", "", "  - point"),
            ("  ```", "  - [ ] code", "  ```"),
            ("<!-- - [ ] hidden -->",),
            ("", "text between", ""),
            ("  - [ ] inner", "    - [x] innermost"),
            ("\t- [x] tabbed",),
            ("~~~", "# no heading", "- [ ] no box", "~~~"),
            ("", "### Sub", ""),
        ]
    ),
    max_size=2,
)

Line = Callable[[int, str], str]
LISTS: dict[str, Line] = {
    "frankbria": lambda number, text: text,
    "todo": lambda number, text: text,
    "spec-kit": lambda number, text: f"T{number:03} {'[P] ' * (number % 2)}{text}",
    "kiro": lambda number, text: f"{number}. {text}",
    "openspec": lambda number, text: f"1.{number} {text}",
}
HEADS = {"frankbria": "# Fix Plan\n\n## High Priority", "openspec": "## 1. A"}


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(st.sampled_from(sorted(LISTS)))
    lines = HEADS.get(name, "# Tasks").split("\n")
    for number in range(1, draw(st.integers(1, 5)) + 1):
        star = "*" if name == "kiro" and draw(st.booleans()) else ""
        text = LISTS[name](number, draw(WORDS))
        lines.append(f"{draw(BULLETS)}[{draw(MARKS)}]{star} {text}")
        for piece in draw(BELOW):
            lines += piece
    return name, ended(draw, lines)


def ended(draw: st.DrawFn, lines: list[str]) -> str:
    """Join lines with line ends and trailing spaces as people and editors leave them."""
    ends = st.sampled_from(["\n", "\n", "\r\n", "  \n", "\t\r\n"])
    text = "".join(line + draw(ends) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def writer(name: str) -> Writable:
    importer = formats().named(name)
    assert is_exporter(importer)
    return importer


def plan_of(name: str, text: str, by_group: bool = False) -> ImplementationPlan:
    wanted = ImportOptions(by="group" if by_group else "task")
    return ImplementationPlan(tasks=formats().named(name).read(Source(NAME, text), wanted).tasks)


MADE = lists() | json_files()
SAMPLES = st.sampled_from([(s.format, s.text) for s in markdown_samples.ALL if s.format != "bmad"])


@given(MADE | SAMPLES, st.booleans())
def test_what_was_read_is_written_back_byte_for_byte(file: tuple[str, str], by_group: bool) -> None:
    name, text = file
    assert writer(name).write(plan_of(name, text, by_group), Source(NAME, text)) == text


def turned(task: Task) -> TaskStatus:
    is_complete = task.status is TaskStatus.COMPLETE
    return TaskStatus.PENDING if is_complete else TaskStatus.COMPLETE


def common(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


@given(MADE, st.data())
def test_completing_one_task_changes_exactly_its_mark(
    file: tuple[str, str], data: st.DataObject
) -> None:
    name, text = file
    plan = plan_of(name, text)
    chosen = data.draw(st.sampled_from(plan.tasks))
    changed = writer(name).write(
        plan.with_task(chosen.id, status=turned(chosen)), Source(NAME, text)
    )
    start = common(text, changed)
    end = common(text[start:][::-1], changed[start:][::-1])
    gone, new = text[start : len(text) - end], changed[start : len(changed) - end]
    if name in LISTS:
        assert (len(gone), len(new), text[start - 1], text[start + 1]) == (1, 1, "[", "]")
        line = formats().named(name).read(Source(NAME, text), ImportOptions()).lines[chosen.id]
        assert text.count("\n", 0, start) + 1 == line
    # Values and words of states share letters, so what differs may be less than a word, and never more than one.
    assert len(gone) <= len('"in-progress"')
    assert len(new) <= len(',  "status": "pending"') + 12
    for old, told in zip(plan.tasks, plan_of(name, changed).tasks, strict=True):
        assert old.origin == told.origin
        if old.id != chosen.id:
            assert old == told
        else:
            is_complete = told.status is TaskStatus.COMPLETE
            assert is_complete == (turned(chosen) is TaskStatus.COMPLETE)
            assert (told.id, told.description) == (old.id, old.description)


PIECE = st.sampled_from(
    [
        "```",
        "<!--",
        "-->",
        "# ",
        "- [ ] ",
        "[x]",
        "\n",
        "---",
        "==",
        "`",
        "T001 ",
        "1.1 ",
        "HIGH: ",
        "é",
    ]
)
TEXT = st.lists(PIECE | st.text(max_size=4), max_size=6).map("".join)
IDS = (
    st.text(LETTERS, min_size=1, max_size=8)
    .map(str.strip)
    .filter(lambda id_: not odd_id(id_) and id_)
)
TASKS = st.lists(
    st.builds(
        Task,
        id=IDS,
        description=TEXT,
        group=TEXT,
        status=st.sampled_from(TaskStatus),
        priority=st.integers(0, 5),
        verification_criteria=st.lists(TEXT, max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda task: task.id,
)


@given(TASKS)
def test_a_new_file_has_every_task_of_the_plan_with_its_state(tasks: list[Task]) -> None:
    name = "todo"
    new = writer(name).write(ImplementationPlan(tasks=tuple(tasks)), Source(NAME, ""))
    done = {task.id: task.status is TaskStatus.COMPLETE for task in plan_of(name, new).tasks}
    assert done == {task.id: task.status is TaskStatus.COMPLETE for task in tasks}
