"""The demo scenario, played to the real CLI in the demo project, with a stand-in for the engine."""

import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    McpSdkServerConfig,
    ResultMessage,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk.types import HookContext, HookInput, SyncHookJSONOutput

from ralph_tui.demo.loading import load_scenario, shipped_scenario
from ralph_tui.demo.messages import message, stream_events
from ralph_tui.demo.project import create_demo_project, demo_environment
from ralph_tui.demo.scenario import Either, Turn, Usage
from ralph_tui.demo.server import ModelServer
from ralph_tui.domain.errors import SetupError
from tests.harness.model import cli_environment, serving
from tests.harness.projects import plan_of

GATE = ["uv", "run", "python", "-m", "unittest"]

Arguments = dict[str, Any]  # what the SDK hands to a tool


def run(command: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **demo_environment()}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@dataclass
class Engine:
    """Just enough of ralph for the scenario: the gate, the memory, and the guard."""

    project: Path
    receipts: list[str] = field(default_factory=list)
    learnings: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    memory: str = ""

    def tools(self) -> McpSdkServerConfig:
        @tool("ralph_mark_task_complete", "Claim", {"task_id": str, "verification_notes": str})
        async def claim(arguments: Arguments) -> Arguments:
            done = run(GATE, self.project)
            verdict = "NOT YET" if done.returncode else "ACCEPTED"
            self.receipts.append(f"{arguments['task_id']} {verdict}")
            return _text(f"{verdict}: {done.stderr}")

        @tool("ralph_append_learning", "Learning", {"learning": str, "category": str})
        async def learn(arguments: Arguments) -> Arguments:
            self.learnings.append(arguments["learning"])
            return _text("recorded")

        @tool("ralph_update_memory", "Memory", {"progress": str})
        async def remember(arguments: Arguments) -> Arguments:
            self.memory = json.dumps(arguments)
            return _text("written")

        return create_sdk_mcp_server("ralph", tools=[claim, learn, remember])

    async def guard(self, call: HookInput, _: str | None, __: HookContext) -> SyncHookJSONOutput:
        assert call["hook_event_name"] == "PreToolUse"
        command = str(call["tool_input"].get("command", ""))
        if "git commit" in command:
            self.denied.append(command)
            return _decide("deny", "the person commits")
        return _decide("allow", "")

    async def session(self, server: ModelServer, *prompts: str) -> None:
        options = ClaudeAgentOptions(
            tools=["Read", "Write", "Edit", "Bash"],
            setting_sources=[],
            cwd=self.project,
            env={**cli_environment(server, self.project.parent), **demo_environment()},
            mcp_servers={"ralph": self.tools()},
            hooks={"PreToolUse": [HookMatcher(hooks=[self.guard])]},
        )
        async with ClaudeSDKClient(options) as client:
            for prompt in prompts:
                await client.query(prompt)
                async for heard in client.receive_response():
                    assert not isinstance(heard, ResultMessage) or not heard.is_error


def _text(text: str) -> Arguments:
    return {"content": [{"type": "text", "text": text}]}


def _decide(decision: Any, reason: str) -> SyncHookJSONOutput:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }


def prompt(task_id: str, memory: str = "") -> str:
    return f"# Ralph Building Mode - Iteration 1\n\nTask ID: {task_id}\n{memory}\n"


@pytest.mark.real_cli
async def test_the_demo_can_be_finished_by_playing_it(tmp_path: Path) -> None:
    engine = Engine(create_demo_project(tmp_path / "demo"))
    async with serving(shipped_scenario("demo")) as server:
        for task_id in ("demo-01", "demo-02", "demo-03"):
            await engine.session(server, prompt(task_id))
        await engine.session(server, prompt("demo-04"), "HAND-OFF: the context is 63 % full")
        await engine.session(server, prompt("demo-04", engine.memory))
        await engine.session(server, prompt("demo-05"))
        assert server.unmatched == []

    assert engine.receipts == [
        "demo-01 ACCEPTED",
        "demo-02 ACCEPTED",
        "demo-03 NOT YET",
        "demo-03 ACCEPTED",
        "demo-04 ACCEPTED",
        "demo-05 ACCEPTED",
    ]
    assert len(engine.learnings) == 1
    assert len(engine.denied) == 1
    report = run(
        ["uv", "run", "python", "-m", "habits", "march.log", "--today", "2026-03-08"],
        engine.project,
    )
    assert report.stdout.splitlines() == [
        "read   ▇▇▇▇▇▇▇························  7 days",
        "walk   ▇▇·▇▇▇▇························  4 days",
        "piano  ··▇···▇························  1 day",
    ]


def _seconds(turn: Turn, defaults: Mapping[str, float]) -> float:
    events = stream_events(message(turn, key="k", model="m", usage=Usage()), Usage())
    deltas = sum(1 for event in events if event["type"] == "content_block_delta")
    wait = defaults["wait"] if turn.wait is None else turn.wait
    pace = defaults["pace"] if turn.pace is None else turn.pace
    return wait + pace * deltas


def test_the_demo_is_neither_rushed_nor_slow() -> None:
    """What the CLI and the gate take, some ten seconds, comes on top."""
    scenario = load_scenario(shipped_scenario("demo"))
    items = [item for script in scenario.scripts for item in script.turns]
    turns = [item.either[0] if isinstance(item, Either) else item for item in items]
    defaults = {"wait": scenario.wait, "pace": scenario.pace}
    assert 15 < math.fsum(_seconds(turn, defaults) for turn in turns) < 45


def test_the_project_begins_green_and_its_plan_can_be_worked(tmp_path: Path) -> None:
    project = create_demo_project(tmp_path / "new" / "demo")
    plan = plan_of(project)
    assert plan.problems() == ()
    assert len(plan.tasks) == 5
    assert run(GATE, project).returncode == 0
    assert "VIRTUAL_ENV" not in run(GATE, project).stderr
    assert run(["git", "status", "--short"], project).returncode == 0


def test_a_temporary_project_is_fresh_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = create_demo_project(), create_demo_project()
    assert first != second
    assert first.name.startswith("ralph-demo-")
    assert (second / ".ralph" / "config.yaml").exists()


def test_without_git_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not (create_demo_project(tmp_path / "demo") / ".git").exists()


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for target in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(SetupError, match="wants an empty directory"):
            create_demo_project(target)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SetupError, match="cannot be written"):
        create_demo_project(tmp_path / "mine.txt" / "below")
