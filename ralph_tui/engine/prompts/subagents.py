"""Define the sub-agents, which read and test in separate contexts."""

from collections.abc import Collection, Mapping

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.core.ports import SubAgent

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
    description="Analyzes the files it is given in depth; returns structured analysis, not content.",
    prompt=(
        "Read the files you are given and answer the question about them as a structured analysis: "
        "purpose, interfaces, what depends on what, risks. Do not repeat file contents. Change nothing."
    ),
    tools=("Read", "Glob", "Grep"),
    max_turns=15,
)
TEST_EXECUTION = SubAgent(
    name="test_execution",
    description="Runs tests or builds and analyzes failures; returns pass or fail and a summary.",
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


def sub_agents(phase: Phase, without: Collection[str]) -> tuple[SubAgent, ...]:
    if AGENT_TOOLS & set(without):
        return ()
    return tuple(agent for agent in SUB_AGENTS[phase] if not set(agent.tools) & set(without))


AGENT_TOOLS = frozenset({"Task", "Agent"})
"""Both names of the tool that starts a sub-agent: the CLI lists it as Task and calls it as Agent."""


_NAMES = tuple(agent.name for agent in (*_READERS, TEST_EXECUTION))


class SubAgentRules:
    """Restricts sub-agents to ralph's own kinds, and to one that runs commands at a time.

    The model needs one unambiguous result, and two builds in one directory interfere with each other.
    """

    def __init__(self) -> None:
        self._running = ""
        """The id of the call that runs a sub-agent with commands."""

    def review(self, call: ToolCall) -> Verdict | None:
        if call.name not in AGENT_TOOLS:
            return None
        kind = str(call.input.get("subagent_type") or "")
        if kind not in _NAMES:
            return Verdict(
                decision="deny",
                rule="own-sub-agents",
                part=kind,
                reason="Only ralph's own sub-agents are allowed",
                instead=f"Set subagent_type to {', '.join(_NAMES)}, or do it yourself.",
            )
        if kind != TEST_EXECUTION.name:
            return None
        self._running = self._running or call.tool_id
        if self._running == call.tool_id:
            return None
        return Verdict(
            decision="deny",
            rule="one-test-agent",
            part=kind,
            reason="A sub-agent is running another build or test",
            instead="Wait for its result, then start this one.",
        )

    def ended(self, call: ToolCall) -> None:
        if call.tool_id == self._running:
            self._running = ""
