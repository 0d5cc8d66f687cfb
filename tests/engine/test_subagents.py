"""Sub-agents run one build or test at a time; what else holds of them is in `runs/sub-agents.txt`."""

import pytest

from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.prompts.subagents import SubAgentRules


def bash(command: str, tool_id: str, agent_id: str | None = "one") -> ToolCall:
    return ToolCall(tool_id=tool_id, name="Bash", input={"command": command}, agent_id=agent_id)


@pytest.mark.parametrize(
    "command",
    ["uv run pytest -x", "npm test", "npm run build", "cargo build", "go test ./...", "make -j2"],
)
def test_sub_agents_run_one_build_or_test_at_a_time(command: str) -> None:
    rules = SubAgentRules()
    first, second = bash(command, "1"), bash(command, "2", agent_id="two")
    assert rules.review(first) is None
    assert rules.review(first) is None, "asked about again"
    denied = rules.review(second)
    assert denied is not None
    assert (denied.rule, denied.part) == ("one-test-agent", command)
    assert rules.review(bash("ls -l", "3")) is None, "reading disturbs nobody"
    assert rules.review(bash(command, "4", agent_id=None)) is None, "the agent itself waits anyway"
    rules.ended(second)
    assert rules.review(second) is not None
    rules.ended(first)
    assert rules.review(second) is None
