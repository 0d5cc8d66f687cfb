"""Sub-agents: their own tools, nested in the stream, paid for, and never in charge of the task."""

from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

pytestmark = pytest.mark.real_cli


def starts(kind: str, words: str, times: int = 1) -> str:
    """A session that starts sub-agents at once, then claims."""
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
    assert finished.outcome is ev.ToolOutcome.OK
    assert "That is what I found." in finished.output
    contexts = [e.context_tokens for e in run.of(ev.UsageReported)]
    assert max(contexts) < 30_000, "its context is not ours"
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_a_sub_agent_may_not_change_the_task(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    claim = "ralph: {mark_task_complete: {task_id: a, verification_notes: Mine.}}"
    scripts = scenario(starts("general-purpose", "take over"), helper("take over", claim))
    async with serving(scripts) as server:
        run = await play(project, server)
    assert [e.rule for e in run.of(ev.ToolDenied)] == ["sub-agent-state"]
    assert task_of(project, "a").completion_notes == "Looked."


async def test_one_test_sub_agent_at_a_time(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    scripts = scenario(
        starts("test_execution", "run tests", times=2),
        helper("run tests", "bash: uv run python -V"),
    )
    async with serving(scripts) as server:
        run = await play(project, server)
    assert [e.rule for e in run.of(ev.ToolDenied)] == ["one-test-agent"]
    assert task_of(project, "a").status is TaskStatus.COMPLETE
