"""For every format made of boxes: what was read is written back byte for byte, and one task changes one box."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.plan.plan_validation import odd_id
from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import ImportOptions, Source, Writable
from tests.interop import markdown_samples

NAME = "tasks.md"
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
FORMATS: dict[str, Line] = {
    "frankbria": lambda number, text: text,
    "todo": lambda number, text: text,
    "spec-kit": lambda number, text: f"T{number:03} {'[P] ' * (number % 2)}{text}",
    "kiro": lambda number, text: f"{number}. {text}",
    "openspec": lambda number, text: f"1.{number} {text}",
}
HEADS = {"frankbria": "# Fix Plan\n\n## High Priority", "openspec": "## 1. A"}


@st.composite
def lists(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(st.sampled_from(sorted(FORMATS)))
    lines = HEADS.get(name, "# Tasks").split("\n")
    for number in range(1, draw(st.integers(1, 5)) + 1):
        star = "*" if name == "kiro" and draw(st.booleans()) else ""
        text = FORMATS[name](number, draw(WORDS))
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


SAMPLES = st.sampled_from([(s.format, s.text) for s in markdown_samples.ALL if s.format != "bmad"])
FILES = lists() | SAMPLES


@given(FILES, st.booleans())
def test_what_was_read_is_written_back_byte_for_byte(file: tuple[str, str], by_group: bool) -> None:
    name, text = file
    assert writer(name).write(plan_of(name, text, by_group), Source(NAME, text)) == text


def turned(task: Task) -> TaskStatus:
    is_complete = task.status is TaskStatus.COMPLETE
    return TaskStatus.PENDING if is_complete else TaskStatus.COMPLETE


@given(lists(), st.data())
def test_completing_one_task_changes_exactly_its_box(
    file: tuple[str, str], data: st.DataObject
) -> None:
    name, text = file
    plan = plan_of(name, text)
    chosen = data.draw(st.sampled_from(plan.tasks))
    changed = writer(name).write(
        plan.with_task(chosen.id, status=turned(chosen)), Source(NAME, text)
    )
    assert len(changed) == len(text)
    (at,) = [index for index, (a, b) in enumerate(zip(text, changed, strict=True)) if a != b]
    assert (text[at - 1], text[at + 1]) == ("[", "]")
    line = formats().named(name).read(Source(NAME, text), ImportOptions()).lines[chosen.id]
    assert text.count("\n", 0, at) + 1 == line
    for old, new in zip(plan.tasks, plan_of(name, changed).tasks, strict=True):
        assert new.status is (turned(chosen) if old.id == chosen.id else old.status)
        assert (new.id, new.description) == (old.id, old.description)
        assert new.origin is not None
        assert old.origin is not None
        assert new.origin.hash == old.origin.hash


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
