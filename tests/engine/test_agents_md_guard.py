"""AGENTS.md during a session: what is refused, what is only remarked on."""

from pathlib import Path

import pytest

from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.session.supervisor import AgentsMdGuard


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "AGENTS.md"
    file.write_text("line\n" * 59, encoding="utf-8")
    return file


def call(name: str, **arguments: str | bool) -> ToolCall:
    return ToolCall(tool_id="t", name=name, input=dict(arguments))


def test_an_edit_that_makes_it_too_long_is_refused(path: Path) -> None:
    agents = AgentsMdGuard(path)
    here = str(path)
    assert agents.review(call("Write", file_path=here, content="x\n" * 60)) is None
    verdict = agents.review(call("Write", file_path=here, content="x\n" * 61))
    assert verdict is not None
    assert (verdict.decision, verdict.rule) == ("deny", "agents-md-lines")
    assert "61 lines" in verdict.message
    assert "ralph_append_learning" in verdict.message
    every = {"file_path": here, "old_string": "line\n", "new_string": "a\nb\n"}
    assert agents.review(call("Edit", **every)) is None, "one line more fits"
    assert agents.review(call("Edit", **every, replace_all=True)) is not None
    relative = str(path.parent / "sub" / ".." / "AGENTS.md")
    assert agents.review(call("Write", file_path=relative, content="x\n" * 61)) is not None
    for other in ("README.md", "docs/AGENTS.md", "", "\0"):
        assert agents.review(call("Write", file_path=other, content="x\n" * 99)) is None


def test_a_command_that_made_it_too_long_is_remarked_on_once(path: Path) -> None:
    agents = AgentsMdGuard(path)
    bash = call("Bash", command="cat notes >> AGENTS.md")
    assert agents.note(bash) == ""
    path.write_text("x\n" * 70, encoding="utf-8")
    assert agents.note(bash).startswith("AGENTS.md has 70 lines now")
    assert agents.note(bash) == ""
    assert agents.note(call("Read")) == ""


def test_a_long_file_of_the_persons_own_is_left_in_peace(path: Path) -> None:
    path.write_text("x\n" * 90, encoding="utf-8")
    agents = AgentsMdGuard(path)
    assert agents.note(call("Bash", command="ls")) == ""
    path.unlink()
    assert agents.note(call("Bash", command="rm AGENTS.md")) == ""
