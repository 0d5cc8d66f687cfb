"""Sub-agents: their own tools, nested in the stream, paid for, and never in charge of the task."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.prompts.subagents import SubAgentRules
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play


def starts(kind: str, words: str, times: int = 1) -> str:
    call = f"{{name: Agent, input: {{subagent_type: {kind}, description: look, prompt: {words}}}}}"
    calls = ", ".join([call] * times)
    return f"""
    - name: starts {kind}
      when: "^Task ID: a$"
      turns:
        - say: I will have it looked at.
          tools: [{calls}]
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Looked.}}}}
          write: {{path: done.txt, content: done}}
        - say: Done.
    """


def helper(words: str, turn: str) -> str:
    return f"""
    - name: helper
      when: "^{words}$"
      turns:
        - {turn}
        - say: That is what I found.
          context: 30000
    """


async def test_a_sub_agent_is_nested_and_paid_for(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], files={"notes.txt": "remember"})
    scripts = scenario(starts("code_search", "find notes"), helper("find notes", "read: notes.txt"))
    async with serving(scripts) as server:
        run = await play(project, server)
        assert server.unmatched == []
    outer = next(e for e in run.of(ev.ToolStarted) if e.name == "Agent")
    inner = next(e for e in run.of(ev.ToolStarted) if e.name == "Read")
    assert inner.parent_id == outer.tool_id
    finished = next(e for e in run.of(ev.ToolFinished) if e.tool_id == outer.tool_id)
    assert finished.outcome is ToolOutcome.OK
    assert "That is what I found." in finished.output
    contexts = [e.context_tokens for e in run.of(ev.UsageReported)]
    assert max(contexts) < 30_000, "its context is not ours"
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_only_ralphs_own_sub_agents_are_offered_and_started(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    others = ("general-purpose", "claude", "statusline-setup", "fork", "Explore", "''")
    calls = ", ".join(
        f"{{name: Agent, input: {{subagent_type: {kind}, description: d, prompt: work}}}}"
        for kind in others
    )
    first = f"""
    - name: starts others
      task: a
      turns:
        - tools: [{calls}]
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Alone.}}}}
          write: {{path: done.txt, content: done}}
        - say: Done.
    """
    async with serving(scenario(first)) as server:
        run = await play(project, server)
        assert server.unmatched == [], "none of them asked the model anything"
        request = answered(server)[0].body
        said = json.dumps([request["messages"], request["tools"], request["system"]])
    assert [e.rule for e in run.of(ev.ToolDenied)] == ["own-sub-agents"] * len(others)
    for own in ("code_search", "file_analysis", "test_execution"):
        assert own in said
    assert "statusline-setup" not in said
    assert '`\\"fork\\"`' not in said
    assert task_of(project, "a").status is TaskStatus.COMPLETE


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
