"""The sub-agents of the seeds: expensive reading and testing in contexts of their own."""

from collections.abc import Mapping

from pydantic import JsonValue

from ralph_tui.domain.state import Phase
from ralph_tui.domain.tools import ToolCall, Verdict
from ralph_tui.engine.ports import SubAgent

CODE_SEARCH = SubAgent(
    name="code_search",
    description="Searches the codebase for patterns and implementations; returns a summary only.",
    prompt=(
        "Find what you are asked for in this codebase with Glob, Grep and Read. Answer with a summary of "
        "the findings: file, line, and one sentence each. Quote at most a few lines. Change nothing."
    ),
    tools=("Read", "Glob", "Grep"),
    max_turns=20,
)
FILE_ANALYSIS = SubAgent(
    name="file_analysis",
    description="Analyses the files it is given in depth; returns structured analysis, not content.",
    prompt=(
        "Read the files you are given and answer the question about them as a structured analysis: "
        "purpose, interfaces, what depends on what, risks. Do not repeat file contents. Change nothing."
    ),
    tools=("Read", "Glob", "Grep"),
    max_turns=15,
)
TEST_EXECUTION = SubAgent(
    name="test_execution",
    description="Runs tests or builds and analyses failures; returns pass or fail and a summary.",
    prompt=(
        "Run the command you are given, exactly as it is, read its failures, and answer: passed or failed, "
        "which tests failed, and the likely cause of each with file and line. Change nothing."
    ),
    tools=("Bash", "Read"),
    max_turns=15,
)

_READERS = (CODE_SEARCH, FILE_ANALYSIS)

SUB_AGENTS: Mapping[Phase, tuple[SubAgent, ...]] = {
    Phase.DISCOVERY: _READERS,
    Phase.PLANNING: _READERS,
    Phase.BUILDING: (*_READERS, TEST_EXECUTION),
    Phase.VALIDATION: (*_READERS, TEST_EXECUTION),
}
"""Which sub-agents each phase has."""

AGENT_TOOLS = frozenset({"Task", "Agent"})
"""Both names mean the tool that starts a sub-agent (SDK-FACTS section 1.2)."""


class OneAtATime:
    """Lets one build or test sub-agent run at a time: backpressure needs one clear answer."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._running: str | None = None

    def review(self, call: ToolCall) -> Verdict | None:
        """A denial when another one runs; otherwise None, and this one is running now."""
        if not _tests(call.name, call.input):
            return None
        if self._running is not None and self._running != call.tool_id:
            return Verdict(
                decision="deny",
                rule="one-test-agent",
                part=TEST_EXECUTION.name,
                reason="Another build or test sub-agent is running",
                instead="Wait for its answer, then start the next.",
            )
        self._running = call.tool_id
        return None

    def ended(self, call: ToolCall) -> None:
        """The call is over, however it ended."""
        if call.tool_id == self._running:
            self._running = None


def _tests(name: str, tool_input: Mapping[str, JsonValue]) -> bool:
    return name in AGENT_TOOLS and tool_input.get("subagent_type") == TEST_EXECUTION.name
