"""Issues of GitHub in the forms in which `gh` and the REST interface print them."""

import json
from functools import partial
from typing import Any

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source
from ralph_tui.interop.github_issues import read_prose
from tests.harness.effort import effort

BODY = """<!-- Thank you for the report -->
Search finds nothing.

## Acceptance criteria

- [ ] `npm test -- search` passes
- [x] An empty query is refused

Blocked by #3 and #4, depends on: #9
"""


def issue(number: int, **more: Any) -> dict[str, Any]:
    return {"number": number, "title": f"Issue {number}", "state": "OPEN", "body": "", **more}


def read(value: object) -> Imported:
    source = Source("issues.json", json.dumps(value, indent=2))
    importer = formats().detect(source)
    assert importer.name == "github"
    assert not is_exporter(importer)
    return importer.read(source, ImportOptions())


def test_one_issue_of_gh() -> None:
    got = read(
        issue(
            12,
            body=BODY,
            labels=[{"id": "x", "name": "bug"}, {"name": "P1"}, {"name": "priority: low"}],
            milestone={"number": 2, "title": "v2"},
        )
    )
    (task,) = got.tasks
    assert (task.id, got.title, task.group, task.priority) == ("12", "Issue 12", "v2", 1)
    assert task.labels == ("bug", "P1", "priority: low")
    assert task.verification_criteria == (
        "`npm test -- search` passes",
        "An empty query is refused",
    )
    assert "## Acceptance" in task.description  # text follows the boxes
    assert "Thank you" not in task.description
    assert "- [" not in task.description
    assert got.remarks == (
        "Dependencies on issues that are not in the file are ignored: #3, #4, #9.",
    )


def test_a_list_is_put_in_the_order_in_which_it_was_written() -> None:
    got = read([issue(4, body="Blocked by #3"), issue(3), issue(1, state="CLOSED")])
    assert [task.id for task in got.tasks] == ["1", "3", "4"]
    assert got.tasks[0].status is TaskStatus.COMPLETE
    assert got.tasks[2].dependencies == ("3",)
    assert got.remarks == (
        "The list starts with the newest issue. The plan starts with the oldest.",
    )
    assert [task.id for task in read([issue(1), issue(5), issue(3)]).tasks] == ["1", "5", "3"]


def test_rest_answers_and_searches() -> None:
    rest = [
        issue(1, state="open", body=None, milestone=None, labels=["P0"], url="u"),
        issue(2, state="closed", state_reason="not_planned"),
        issue(3, state="open", pull_request={"url": "u"}),
        issue(4, state="closed", state_reason="completed", blockedBy={"nodes": [{"number": 1}]}),
    ]
    for value in (rest, {"total_count": 4, "items": rest}):
        got = read(value)
        assert [(task.id, task.priority) for task in got.tasks] == [("1", 0), ("4", 100)]
        assert got.tasks[1].dependencies == ("1",)
        assert [out.reason for out in got.left_out] == ["closed as not planned", "a pull request"]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([issue(1), {"title": "x", "body": ""}], "an issue has no 'number'"),
        ([issue(1), issue(1)], "the ID '1' is used twice"),
        ([issue(1, body="blocked by #2"), issue(2, body="blocked by #1")], "in a cycle"),
        ([issue(1), "x"], "an issue is not an object"),
        ([issue(1, labels=[[]])], "a label is not text"),
        (
            [issue(1, state="closed", stateReason="NOT_PLANNED")],
            "no tasks found, and 1 entry was left out",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(value: object, what: str) -> None:
    with pytest.raises(InteropError) as told:
        read(value)
    assert what in told.value.what


def test_an_issue_may_say_only_that_it_is_closed() -> None:
    got = read([{"number": 1, "title": "x", "closed": True, "body": ""}])
    assert got.tasks[0].status is TaskStatus.COMPLETE


def test_pull_requests_are_no_issues() -> None:
    source = Source("prs.json", json.dumps([issue(1, headRefName="fix")]))
    with pytest.raises(InteropError, match="the format of this file is unknown"):
        formats().detect(source)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("Blocked by #1, #2 and #3.", ("1", "2", "3")),
        ("is blocked on #7; waiting for #8", ("7",)),
        ("Depends on: #5", ("5",)),
        ("fixes #1", ()),
        ("`blocked by #1`", ()),
        ("```\nblocked by #1\n- [ ] no box\n```", ()),
        ("blocked by owner/other#4", ()),
    ],
)
def test_what_an_issue_waits_for(text: str, numbers: tuple[str, ...]) -> None:
    prose = read_prose(text)
    assert prose.waits_for == numbers
    assert prose.criteria == ()


def test_hostile_prose_takes_no_time() -> None:
    for part in ("<!--", "#" * 50 + " ", "blocked by" + " " * 50, "- [ ] x\n", "# done when\n\n"):
        assert effort(partial(read_prose, part * (400_000 // len(part)))) < 20
