"""AGENTS.md during a session: what is remarked on."""

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


@pytest.mark.parametrize("tool", ["Bash", "Edit", "Write"])
def test_a_call_that_made_it_too_long_is_remarked_on_once(path: Path, tool: str) -> None:
    agents = AgentsMdGuard(path)
    bash = call(tool)
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
