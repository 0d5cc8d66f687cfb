"""Issues through `gh`: an order that no text can bend, and one sentence for whatever goes wrong."""

import json
import os
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain.errors import RalphError
from ralph_tui.engine.control import github_issue
from ralph_tui.engine.control.github_issue import fetch_issue, is_issue
from tests.harness.waiting import wait_until

ANSWER = {"number": 12, "title": "Export\nto CSV", "body": "Please.\n", "url": "https://x/12"}


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `gh` whose text a test writes; only it is on PATH besides the system's."""
    place = tmp_path / "bin"
    place.mkdir()
    program = place / "gh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return program


def says(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")


def refusal(root: Path, given: str = "12") -> RalphError:
    with pytest.raises(RalphError) as caught:
        fetch_issue(root, given)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    "given",
    ["12", "#12", "https://github.com/o/r/issues/12", "https://git.example:8443/o/r/issues/7#top"],
)
def test_what_names_an_issue(given: str) -> None:
    assert is_issue(given)


@pytest.mark.parametrize(
    "given",
    [
        "", "12a", "--web", "Fix 12", "#", "http://github.com/o/r/issues/12", "https://github.com/o/r/pull/12",
        "https://user@github.com/o/r/issues/1", "-12", "12\n", "1234567890123",
    ],
)  # fmt: skip
def test_what_names_none(given: str) -> None:
    assert not is_issue(given)


def test_an_issue_is_read_without_a_question(tmp_path: Path, gh: Path) -> None:
    seen = tmp_path / "seen"
    says(gh, f'echo "$@ $GH_PROMPT_DISABLED" > {seen}\ncat <<"E"\n{json.dumps(ANSWER)}\nE')
    issue = fetch_issue(tmp_path, "#12")
    assert issue.text == "# Export to CSV\n\nPlease.\n"
    assert (issue.name, issue.url) == ("issue #12", "https://x/12")
    assert seen.read_text() == "issue view 12 --json number,title,body,url 1\n"


def test_without_gh_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refusal(tmp_path)
    assert error.message == "Cannot read issue 12: gh is not installed."
    assert "save the issue text to a file" in error.hint


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'To get started with GitHub CLI, please run:  gh auth login' >&2; exit 4", "not logged in"),
        ("echo 'GraphQL: Could not resolve to an issue or pull request' >&2; exit 1", "Issue 12 does not exist"),
        ("echo 'gh: Not Found (HTTP 404)' >&2; exit 1", "Issue 12 does not exist"),
        ("printf 'no git remotes\\nfound\\033[31m' >&2; exit 1", "no git remotes found"),
        ("exit 7", "exit status 7"),
        ("echo '[]'", "is not an issue"),
        ("echo 'not json'", "is not an issue"),
        ("printf '\\377'", "is not an issue"),
        ("echo '{\"number\": \"1\", \"title\": \"\", \"body\": \"\", \"url\": \"\"}'", "is not an issue"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_one_sentence(tmp_path: Path, gh: Path, script: str, told: str) -> None:
    says(gh, script)
    assert told in refusal(tmp_path).message


def test_a_gh_that_hangs_is_ended_with_its_children(
    tmp_path: Path, gh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_issue, "SECONDS", 0.4)
    child = tmp_path / "child"
    says(gh, f"sleep 600 &\necho $! > {child}\nwait")
    assert "did not return issue 12 within 0.4 seconds" in refusal(tmp_path).message
    pid = int(child.read_text())
    wait_until(
        lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    )
