"""One sub-agent that runs commands works at a time; what else holds of them is in `runs/sub-agents.txt`."""

from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.prompts.subagents import CODE_SEARCH, TEST_EXECUTION, SubAgentRules


def start(kind: str, tool_id: str) -> ToolCall:
    return ToolCall(tool_id=tool_id, name="Task", input={"subagent_type": kind})


def test_one_sub_agent_with_commands_works_at_a_time() -> None:
    rules = SubAgentRules()
    first, second = start(TEST_EXECUTION.name, "1"), start(TEST_EXECUTION.name, "2")
    assert rules.review(first) is None
    assert rules.review(first) is None, "asked about again"
    denied = rules.review(second)
    assert denied is not None
    assert denied.rule == "one-test-agent"
    assert rules.review(start(CODE_SEARCH.name, "3")) is None, "reading disturbs nobody"
    rules.ended(second)
    assert rules.review(second) is not None
    rules.ended(first)
    assert rules.review(second) is None
