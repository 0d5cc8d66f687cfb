"""The issues of beads: epics are groups, `blocks` is a dependency, the status is written back."""

import json
from typing import Any

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source

NAME = ".beads/issues.jsonl"


def issue(id_: str, *links: tuple[str, str], **more: Any) -> dict[str, Any]:
    plain = {"id": id_, "title": f"do {id_}", "status": "open", "priority": 2, "issue_type": "task"}
    dependencies = [{"issue_id": id_, "depends_on_id": to, "type": kind} for kind, to in links]
    return {**plain, **({"dependencies": dependencies} if links else {}), **more}


def text(*issues: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in issues)


def read(*issues: dict[str, Any]) -> Imported:
    source = Source(NAME, text(*issues))
    return formats().detect(source).read(source, ImportOptions())


EPIC = issue("bd-1", title="Login", issue_type="epic")
FILE = (
    EPIC,
    issue("bd-1.1", ("parent-child", "bd-1"), status="closed", priority=0, labels=["ui"]),
    issue("bd-1.2", ("parent-child", "bd-1"), ("blocks", "bd-1.1"), ("related", "bd-3")),
    issue("bd-2", ("blocks", "bd-1"), status="in_progress", notes="careful", design="A plan."),
    issue("bd-3", status="tombstone"),
    issue("bd-4", status="blocked"),
    issue("bd-5", status="deferred"),
    issue("bd-6", issue_type="epic", title="Empty"),
    issue("bd-7", issue_type="message"),
    issue("bd-8", ("blocks", "bd-3"), ("blocks", "external:other:api"), status="simmering"),
)


def test_issues_become_tasks() -> None:
    got = read(*FILE, {"_type": "memory", "key": "style", "value": "short"})
    by_id = {task.id: task for task in got.tasks}
    assert list(by_id) == ["bd-1.1", "bd-1.2", "bd-2", "bd-4", "bd-5", "bd-8"]
    assert (by_id["bd-1.1"].status, by_id["bd-1.1"].priority) == (TaskStatus.COMPLETE, 0)
    assert (by_id["bd-1.1"].group, by_id["bd-1.1"].labels) == ("Login", ("ui",))
    assert by_id["bd-1.2"].dependencies == ("bd-1.1",)
    assert by_id["bd-2"].dependencies == ("bd-1.1", "bd-1.2")
    assert (by_id["bd-2"].notes, by_id["bd-2"].description) == ("careful", "do bd-2\n\nA plan.")
    assert by_id["bd-4"].status is TaskStatus.BLOCKED
    assert by_id["bd-5"].is_held
    assert (by_id["bd-8"].dependencies, by_id["bd-8"].status) == ((), TaskStatus.PENDING)
    assert [(out.id, out.reason) for out in got.left_out] == [
        ("bd-3", "deleted"),
        ("bd-6", "an epic without tasks"),
        ("bd-7", "type message, which is not a task"),
    ]
    outside, dropped = got.remarks
    assert "bd-8 on external:other:api" in outside
    assert "bd-8 on bd-3" in dropped


def test_criteria_are_bullets_or_lines_or_a_section_of_the_description() -> None:
    got = read(
        issue("a", acceptance_criteria="- One\n- [ ] `npm test` passes\n"),
        issue("b", acceptance_criteria="It works.\nIt is fast."),
        issue(
            "c", description="Why.\n\n## Acceptance Criteria\n- First\n- Second\n\n## Notes\n- no\n"
        ),
    )
    assert [task.verification_criteria for task in got.tasks] == [
        ("One", "`npm test` passes"),
        ("It works.", "It is fast."),
        ("First", "Second"),
    ]
    assert got.tasks[2].description == "do c\n\nWhy.\n\n## Notes\n- no"


def test_a_list_is_read_as_well() -> None:
    source = Source("list.json", json.dumps([issue("a"), issue("b", ("blocks", "a"))], indent=1))
    importer = formats().detect(source)
    assert importer.name == "beads"
    assert [task.id for task in importer.read(source, ImportOptions()).tasks] == ["a", "b"]


@pytest.mark.parametrize(
    ("broken", "line", "what"),
    [
        (
            text(EPIC) + '{"id": "x", "issue_type": "ta',
            2,
            "the file ends early",
        ),
        (text(EPIC) + '{"id": "x", "issue_type": "task"', 2, "the file ends early"),
        (
            text(issue("a"), issue("b", ("blocks", "zz"))),
            2,
            "'b' depends on 'zz', which is not in the file",
        ),
        (
            text(issue("a", ("blocks", "b")), issue("b", ("blocks", "a"))),
            1,
            "in a cycle: a → b → a",
        ),
        (text(issue("a"), issue("a")), 2, "the ID 'a' is used twice, first in line 1"),
        (text(issue("a"), {"title": "no id"}), 2, "an issue has no 'id'"),
        (text(issue("a")) + "[]\n", 2, "an issue is not an object"),
        (text(issue("a", priority="P9")), 1, "'priority' is 'P9'"),
        (text(EPIC), 0, "no tasks found, and 1 entry was left out"),
    ],
)
def test_a_broken_line_is_named(broken: str, line: int, what: str) -> None:
    source = Source(NAME, broken)
    with pytest.raises(InteropError) as told:
        formats().detect(source).read(source, ImportOptions())
    assert what in told.value.what
    assert told.value.line == line


def test_epics_that_contain_each_other_end() -> None:
    with pytest.raises(InteropError, match="no tasks found"):
        read(
            issue("a", ("parent-child", "b"), issue_type="epic"),
            issue("b", ("parent-child", "a"), issue_type="epic"),
        )
