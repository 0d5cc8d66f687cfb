"""The bundled Claude Code CLI, driven by the SDK, sees a model in the server."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    Message,
    ResultMessage,
)
from claude_agent_sdk.types import HookContext, HookInput, SyncHookJSONOutput

from ralph_tui.demo.server import DUMMY_KEY, ModelServer
from tests.harness.model import answered, cli_environment, serving


async def _allow(_: HookInput, __: str | None, ___: HookContext) -> SyncHookJSONOutput:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}


@dataclass
class Session:
    """A client with what it said."""

    client: ClaudeSDKClient
    cwd: Path
    heard: list[Message] = field(default_factory=list)

    async def ask(self, prompt: str) -> ResultMessage:
        await self.client.query(prompt)
        async for message in self.client.receive_response():
            self.heard.append(message)
        result = self.heard[-1]
        assert isinstance(result, ResultMessage)
        return result


@contextlib.asynccontextmanager
async def session(
    server: ModelServer, tmp_path: Path, **environment: str
) -> AsyncIterator[Session]:
    cwd = tmp_path / "project"
    cwd.mkdir()
    options = ClaudeAgentOptions(
        tools=["Read", "Write", "Bash", "Agent"],
        setting_sources=[],
        cwd=cwd,
        env={
            **cli_environment(server, tmp_path),
            "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
            **environment,
        },
        hooks={"PreToolUse": [HookMatcher(hooks=[_allow])]},
    )
    async with ClaudeSDKClient(options) as client:
        yield Session(client, cwd)


WORK = "scripts: [{when: '^Write a greeting', turns: [{say: Hello.}]}]"


AGENTS = """
scripts:
  - when: "^Delegate"
    turns:
      - tools:
          - name: Agent
            input: {description: count files, prompt: Count the files, subagent_type: general-purpose}
      - when: {last_result: There are 0}
        say: The agent counted none.
  - when: "^Count the files"
    turns:
      - bash: ls | wc -l
      - when: {last_result: "^0$"}
        say: There are 0 files.
"""


async def test_sub_agents_and_later_prompts_have_scripts_of_their_own(tmp_path: Path) -> None:
    scenario = AGENTS + "  - {when: '^HAND-OFF:', turns: [{say: Nothing is left to do.}]}\n"
    async with serving(scenario) as server, session(server, tmp_path) as claude:
        assert (await claude.ask("Delegate the counting")).result == "The agent counted none."
        assert (await claude.ask("HAND-OFF: sum up")).result == "Nothing is left to do."
        assert server.unmatched == []
        scripts = [r.script for r in answered(server)]
        assert scripts == ["^Delegate", *["^Count the files"] * 2, "^Delegate", "^HAND-OFF:"]


async def test_the_cli_talks_to_the_loopback_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that answers nothing stands between the CLI and the rest of the world."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a person's own token")
    monkeypatch.setenv("CLAUDE_CODE_USE_BEDROCK", "1")
    calls: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append(await reader.readline())
        writer.close()

    proxy = await asyncio.start_server(note, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, address)
        monkeypatch.setenv(name.lower(), address)
    async with proxy, serving(WORK) as server, session(server, tmp_path) as claude:
        result = await claude.ask("Write a greeting")
        [cli] = [p for p in psutil.Process(os.getpid()).children() if "claude" in p.name()]
        open_now = [c for c in cli.net_connections("inet") if c.status == psutil.CONN_ESTABLISHED]
        peers = {c.raddr.ip for c in open_now}

    assert not result.is_error
    assert calls == []
    assert peers <= {"127.0.0.1"}
    assert {(r.method, r.path) for r in server.requests} == {("POST", "/v1/messages")}
    assert not any(DUMMY_KEY in value for r in server.requests for value in r.headers.values())
