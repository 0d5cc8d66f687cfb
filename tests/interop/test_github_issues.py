"""Issues of GitHub in the forms in which `gh` and the REST interface print them."""

import json
from functools import partial
from typing import Any

import pytest

from ralph_tui.interop.format_registry import formats, is_exporter
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source
from ralph_tui.interop.github_issues import read_prose
from tests.harness.effort import effort


def issue(number: int, **more: Any) -> dict[str, Any]:
    return {"number": number, "title": f"Issue {number}", "state": "OPEN", "body": "", **more}


def read(value: object) -> Imported:
    source = Source("issues.json", json.dumps(value, indent=2))
    importer = formats().detect(source)
    assert importer.name == "github"
    assert not is_exporter(importer)
    return importer.read(source, ImportOptions())


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
