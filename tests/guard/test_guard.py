"""Every tool call, by phase; whatever goes wrong is a denial."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.core.policy import PHASE_TOOLS, Policy
from ralph_tui.guard.guard import Guard


@pytest.fixture
async def commands() -> AsyncIterator[CommandJudge]:
    commands = CommandJudge()
    yield commands
    await commands.close()


@pytest.fixture
def guard(tmp_path: Path, commands: CommandJudge) -> Guard:
    policy = Policy(root=tmp_path, mcp_servers=("files",), skills=("ralph:ui-check",))
    return Guard(policy, commands)


def call(name: str, *, agent_id: str | None = None, **arguments: JsonValue) -> ToolCall:
    return ToolCall(tool_id="t", name=name, input=arguments, agent_id=agent_id)


async def test_commands_are_judged(guard: Guard) -> None:
    assert (await guard.review(call("Bash", command="ls"))).decision == "allow"
    assert (await guard.review(call("Bash", command="git push"))).rule == "git-read-only"
    rewritten = await guard.review(call("Bash", command="pytest -q"))
    assert (rewritten.decision, rewritten.command) == ("rewrite", "uv run pytest -q")


@pytest.mark.parametrize("command", ["", "  \n", None, 7, ["ls"], {"a": 1}])
async def test_a_command_that_is_none(guard: Guard, command: JsonValue) -> None:
    assert (await guard.review(call("Bash", command=command))).rule == "unreadable-command"


async def test_a_call_without_a_command(guard: Guard) -> None:
    assert (await guard.review(call("Bash"))).decision == "deny"


@pytest.mark.parametrize(
    ("tool", "argument", "path"),
    [
        ("Read", "file_path", "/proc/1/environ"),
        ("Read", "file_path", "/proc/self/../1/environ"),
        ("Grep", "path", "/proc"),
        ("Grep", "path", "/proc/12"),
        ("Glob", "pattern", "/proc/*/environ"),
    ],
)
async def test_other_processes_memory_is_not_read(
    guard: Guard, tool: str, argument: str, path: str
) -> None:
    asked = ToolCall(tool_id="t", name=tool, input={"pattern": "KEY", argument: path})
    assert (await guard.review(asked)).rule == "process-memory"


@pytest.mark.parametrize("path", [".ssh/id_rsa", ".aws/credentials", ".claude/.credentials.json"])
async def test_the_persons_keys_are_not_read(tmp_path: Path, path: str) -> None:
    home = tmp_path / "home"
    guard = Guard(Policy(root=tmp_path / "proj", home=home), CommandJudge())
    (tmp_path / "proj").mkdir()
    (tmp_path / "proj" / "link").symlink_to(home / path)
    for named in (str(home / path), f"~/{path}", "link"):
        assert (await guard.review(call("Read", file_path=named))).rule == "secret-files", named
    for other in ("~/.ssh/id_rsa.pub", "~/.ssh/known_hosts", "~/.gitconfig", f"copy/{path}"):
        assert (await guard.review(call("Read", file_path=other))).decision == "allow", other


@pytest.mark.parametrize(
    "path", ["/proc/cpuinfo", "/proc/self/status", "src/environ", "/etc/hosts"]
)
async def test_the_rest_of_proc_is_read(guard: Guard, path: str) -> None:
    assert (await guard.review(call("Read", file_path=path))).decision == "allow"


async def test_writes_are_judged(guard: Guard) -> None:
    assert (await guard.review(call("Write", file_path="src/x.py"))).decision == "allow"
    assert (await guard.review(call("Edit", file_path=".git/config"))).rule == "git-files"
    assert (await guard.review(call("NotebookEdit", notebook_path="../x"))).decision == "deny"
    assert (await guard.review(call("Write"))).rule == "bad-path"
    assert (await guard.review(call("Write", file_path=["x"]))).rule == "bad-path"
    assert (await guard.review(call("MultiEdit", file_path=".ralph/x"))).rule == "ralph-files"


async def test_what_the_person_wants_to_be_asked_about(tmp_path: Path) -> None:
    asks = ("npm publish", "pytest", "git status", "WebFetch", "mcp__files", "Write", "mcp__ralph")
    policy = Policy(root=tmp_path, mcp_servers=("files",), ask_commands=asks)
    plain = judge_command("cd a && sh -c 'npm --tag x publish'", policy)
    assert (plain.decision, plain.asks, plain.command) == ("ask", ("npm publish",), None)
    assert "npm --tag x publish" in plain.part
    both = judge_command("pytest -q; npm publish", policy)
    assert (both.decision, both.command) == ("ask", "uv run pytest -q; npm publish")
    assert set(both.asks) == {"pytest", "npm publish"}
    assert judge_command("npm publish && git push", policy).decision == "deny", "never askable"
    guard = Guard(policy, CommandJudge())
    for name, entry in (
        ("WebFetch", "WebFetch"),
        ("mcp__files__put", "mcp__files"),
        ("Write", "Write"),
    ):
        asked = await guard.review(call(name, file_path="x", path="x"))
        assert (asked.decision, asked.asks) == ("ask", (entry,)), name
    assert (await guard.review(call("mcp__ralph__ralph_get_status"))).decision == "allow"
    for denied in (call("Write", file_path="../x"), call("mcp__files__put", path="/etc/x")):
        assert (await guard.review(denied)).decision == "deny"


@pytest.mark.parametrize("phase", list(Phase))
async def test_tools_of_the_phase_and_no_others(
    tmp_path: Path, commands: CommandJudge, phase: Phase
) -> None:
    guard = Guard(Policy(root=tmp_path, phase=phase), commands)
    everything = {name for names in PHASE_TOOLS.values() for name in names}
    for name in everything | {"Monitor", "PowerShell", "SendMessage", "Nonsense", ""}:
        verdict = await guard.review(call(name, command="ls", file_path="specs/x.md"))
        if name in PHASE_TOOLS[phase]:
            assert verdict.decision == "allow", name
        else:
            assert verdict.rule == "tool-not-in-phase", name
            assert PHASE_TOOLS[phase][0] in verdict.instead


async def test_a_tool_that_the_person_took_away_is_refused(tmp_path: Path) -> None:
    guard = Guard(Policy(root=tmp_path, without_tools=("WebSearch", "Task")), CommandJudge())
    for name in ("WebSearch", "Task", "Agent"):
        verdict = await guard.review(call(name))
        assert (verdict.decision, verdict.rule) == ("deny", "tool-not-in-phase"), name
    assert (await guard.review(call("WebFetch"))).decision == "allow"


async def test_task_has_two_names(guard: Guard) -> None:
    assert (await guard.review(call("Agent"))).decision == "allow"
    assert (await guard.review(call("Task"))).decision == "allow"


async def test_ralphs_own_tools(guard: Guard) -> None:
    complete = "mcp__ralph__ralph_mark_task_complete"
    look = "mcp__ralph__ralph_get_next_task"
    assert (await guard.review(call(complete))).decision == "allow"
    assert (await guard.review(call(look, agent_id="sub"))).decision == "allow"
    assert (await guard.review(call(complete, agent_id="sub"))).rule == "sub-agent-state"


async def test_other_mcp_tools_by_their_paths(guard: Guard) -> None:
    write = "mcp__files__write_file"
    assert (await guard.review(call(write, path="src/x"))).decision == "allow"
    assert (await guard.review(call(write, path="/etc/x"))).rule == "outside-project"
    assert (await guard.review(call(write, path="file:///etc/x"))).rule == "outside-project"
    assert (await guard.review(call(write, edits=[{"filePath": ".git/x"}]))).rule == "git-files"
    assert (await guard.review(call(write, files=["a", ".ralph/x"]))).rule == "ralph-files"
    assert (await guard.review(call(write, path="https://x.org"))).decision == "allow"
    assert (await guard.review(call("mcp__files__read_file", path="/etc/x"))).decision == "allow"
    assert (await guard.review(call("mcp__odd", path=".git/x"))).decision == "deny"
    assert (await guard.review(call("mcp__other__read_file"))).rule == "tool-not-in-phase"


async def test_only_the_skills_of_the_phase(guard: Guard, tmp_path: Path) -> None:
    assert (await guard.review(call("Skill", skill="ralph:ui-check"))).decision == "allow"
    others: tuple[JsonValue, ...] = ("update-config", "ralph:other", "", ["ralph:ui-check"])
    for other in others:
        assert (await guard.review(call("Skill", skill=other))).rule == "skill-not-in-phase"
    without = Guard(Policy(root=tmp_path), CommandJudge())
    assert (await without.review(call("Skill", skill="x"))).rule == "tool-not-in-phase"


async def test_an_exception_is_a_denial(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Verdict:
        raise ZeroDivisionError

    monkeypatch.setattr("ralph_tui.guard.guard.judge_path", broken)
    verdict = await guard.review(call("Write", file_path="x"))
    assert (verdict.decision, verdict.rule) == ("deny", "guard-failed")
