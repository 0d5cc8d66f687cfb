"""The issues of beads: epics are groups, `blocks` is a dependency, the status is written back."""

import json
from typing import Any

import pytest

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
