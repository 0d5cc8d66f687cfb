"""Issues of GitHub in the forms in which `gh` and the REST interface print them."""

from functools import partial

import pytest

from ralph_tui.interop.github_issues import read_prose
from tests.harness.effort import effort


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
