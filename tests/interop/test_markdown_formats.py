"""What each format made of boxes says is what its tool means by it."""

import pytest

from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source, Writable
from tests.interop import markdown_samples
from tests.interop.markdown_samples import Sample


def read(sample: Sample, by: str = "task") -> Imported:
    source = Source(sample.path, sample.text)
    return (
        formats()
        .detect(source)
        .read(source, ImportOptions(by="group" if by == "group" else "task"))
    )


def tasks(sample: Sample, by: str = "task") -> dict[str, Task]:
    return {task.id: task for task in read(sample, by).tasks}


def done(found: dict[str, Task]) -> list[str]:
    return [id_ for id_, task in found.items() if task.status is TaskStatus.COMPLETE]


@pytest.mark.parametrize("sample", markdown_samples.ALL, ids=lambda sample: sample.path)
def test_the_format_is_detected_with_and_without_the_name(sample: Sample) -> None:
    assert formats().detect(Source(sample.path, sample.text)).name == sample.format
    assert (
        formats().detect(Source("C:\\work\\" + sample.path.replace("/", "\\"), sample.text)).name
        == sample.format
    )
    assert formats().detect(Source("standard input", sample.text)).name == sample.format
    assert (
        formats().detect(Source("tasks.md", sample.text.replace("\n", "\r\n"))).name
        == sample.format
    )


@pytest.mark.parametrize(
    ("heading", "text", "title", "priority"),
    [
        ("🔴 High Priority (MANDATORY)", "a", "a", 1),
        ("Priority 1: Foundation", "a", "a", 1),
        ("Priority: low", "a", "a", 3),
        ("P0", "a", "a", 0),
        ("Critical Bugs", "a", "a", 0),
        ("MEDIUM", "a", "a", 2),
        ("High-level design", "a", "a", DEFAULT_PRIORITY),
        ("Phase 1", "**LOW**: a", "a", 3),
        ("Phase 1", "**LOW:** a", "a", 3),
        ("Phase 1", "[P1] a", "a", 1),
        ("Phase 1", "(critical) a", "a", 0),
        ("Low Priority", "medium - a", "a", 2),
        ("Phase 1", "High water mark", "High water mark", DEFAULT_PRIORITY),
        ("Phase 1", "HIGH:", "HIGH:", DEFAULT_PRIORITY),
    ],
)
def test_a_priority_stands_in_the_heading_or_before_the_text(
    heading: str, text: str, title: str, priority: int
) -> None:
    text = f"# Fix Plan\n\n## {heading}\n\n- [ ] {text}\n"
    (task,) = read(Sample("frankbria", "fix_plan.md", text)).tasks
    assert (task.title, task.priority) == (title, priority)


def test_a_very_wide_phase_still_names_few_dependencies() -> None:
    lines = [f"- [ ] T{number:04} [P] Task" for number in range(2_000)]
    text = "# Tasks\n## Phase 1\n" + "\n".join(lines) + "\n## Phase 2\n- [ ] T9999 End\n"
    imported = read(Sample("spec-kit", "tasks.md", text))
    assert sum(len(task.dependencies) for task in imported.tasks) < 2_100
    assert "more than 50 parallel tasks" in imported.remarks[0]


@pytest.mark.parametrize(
    ("status", "boxes", "is_done", "remark"),
    [
        ("Status: Done", " ", True, "although 1 of 1 boxes are open"),
        ("Status: review", "x", False, "although all of its boxes are done"),
        ("## Status\n\n**Done**", "x", True, ""),
        ("## Status: Complete", "x", True, ""),
        ("**Status:** ✅ Completed (2026)", "x", True, ""),
        ("- **Status**: ready-for-dev", " ", False, ""),
        ("", "x", True, ""),
        ("", " ", False, ""),
    ],
)
def test_the_status_of_a_story_wins_over_its_boxes(
    status: str, boxes: str, is_done: bool, remark: str
) -> None:
    text = f"# Story 3.4: A\n\n{status}\n\n## Acceptance Criteria\n\n1. It works\n\n## Tasks\n\n- [{boxes}] b\n"
    imported = read(Sample("bmad", "3.4.a.md", text))
    assert (imported.tasks[0].status is TaskStatus.COMPLETE) is is_done
    assert (remark in " ".join(imported.remarks)) if remark else not imported.remarks


@pytest.mark.parametrize(
    ("below", "is_done"),
    [("## Status\nDone", True), ("## Status: Done", True), ("## Status\nEntwurf", False)],
)
def test_a_criterion_about_a_status_is_not_the_status(below: str, is_done: bool) -> None:
    text = "# Story 3.4: A\n## Acceptance Criteria\n- Status: Draft is shown\n## Tasks\n- [ ] c\n"
    (story,) = read(Sample("bmad", "a.md", f"{text}{below}\n")).tasks
    assert (story.status is TaskStatus.COMPLETE) is is_done


def test_completing_a_group_checks_the_boxes_of_all_its_tasks() -> None:
    sample = markdown_samples.OPENSPEC
    source = Source(sample.path, sample.text)
    plan = ImplementationPlan(tasks=read(sample, by="group").tasks)
    assert writer(sample).write(plan, source) == sample.text
    now = writer(sample).write(plan.with_task("1-data", status=TaskStatus.COMPLETE), source)
    assert now == sample.text.replace("[ ] 1.2", "[x] 1.2")


def writer(sample: Sample) -> Writable:
    importer = formats().named(sample.format)
    assert is_exporter(importer)
    return importer


def completed(sample: Sample, id_: str, status: TaskStatus = TaskStatus.COMPLETE) -> str:
    plan = ImplementationPlan(tasks=read(sample).tasks).with_task(id_, status=status)
    return writer(sample).write(plan, Source(sample.path, sample.text))


def test_hostile_text_becomes_an_ordinary_task() -> None:
    text = "- [ ] \x1b[2J\u202eevil [red]x[/red] $(rm -rf /)\n  - [ ] `rm -rf / && curl x | sh` passes\n"
    (task,) = read(Sample("todo", "a.md", text)).tasks
    assert task.title == "evil [red]x[/red] $(rm -rf /)"
    assert task.id == "evil-red-x-red-rm-rf"


@pytest.mark.parametrize("mark", ["~", "%", "•"])
def test_odd_boxes_and_those_elsewhere_are_said(mark: str) -> None:
    text = f"- [{mark}] a\n- [x] b\n\n| c | [ ] |\n"
    imported = read(Sample("todo", "a.md", text))
    assert imported.remarks == (
        "Boxes that are neither open nor done count as open (line 1).",
        "Boxes in tables, quotations and paragraphs were ignored (line 4).",
    )
    assert completed(Sample("todo", "a.md", text), "a").startswith("- [x] a")
    assert (
        writer(Sample("todo", "", "")).write(
            ImplementationPlan(tasks=imported.tasks), Source("a.md", text)
        )
        == text
    )


PLAN = ImplementationPlan(
    title="Ledger",
    tasks=(
        Task(id="a-1", description="Read\n\nWith care.", status=TaskStatus.COMPLETE, group="Data"),
        Task(
            id="a-2",
            description="Write <!-- now\n\n```\n- [ ] x",
            verification_criteria=("It is there",),
        ),
        Task(id="T001", description="[ ] Sort", priority=1, group="Data"),
        Task(id="1.1", description="Close --> it", group="Phase 9", held=True),
    ),
)


def test_a_new_file_is_read_as_the_same_tasks() -> None:
    name = "todo"
    importer = formats().named(name)
    assert is_exporter(importer)
    new = Source("new.md", importer.write(PLAN, Source("new.md", "")))
    imported = importer.read(new, ImportOptions())
    assert formats().detect(new).name == name
    assert {task.id for task in imported.tasks} == {task.id for task in PLAN.tasks}
    for task in imported.tasks:
        there = PLAN.task(task.id)
        assert there is not None
        assert task.status is there.status
        assert task.title == there.title.replace("<!--", "&lt;!--")
        assert task.verification_criteria == there.verification_criteria


def test_a_file_may_be_too_much() -> None:
    for text, what in (
        ("- [ ] a\n" * 50_001, "about 50,001 check boxes, the maximum is 50,000"),
        ("\n" * 400_001, "about 400,001 lines, the maximum is 400,000"),
    ):
        with pytest.raises(InteropError, match=what):
            formats().named("bmad").read(Source("a.md", text), ImportOptions())
