"""Builds the SDK options of a session: trimmed, restricted, and the same in every iteration."""

import json
import os
import warnings
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    McpSdkServerConfig,
    SdkMcpTool,
    create_sdk_mcp_server,
)
from claude_agent_sdk.types import CanUseToolShadowedWarning, SandboxSettings
from mcp.types import ToolAnnotations
from pydantic import JsonValue

from ralph_tui.agent.hooks import Hooks
from ralph_tui.agent.login import key_helper
from ralph_tui.agent.process import PIPED_KEYS
from ralph_tui.domain.documents.extensions import OWN_SERVER
from ralph_tui.domain.redaction import is_secret_name
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.core.ports import SessionSpec, ToolSpec
from ralph_tui.guard.sandbox.os_sandbox import Sandbox, witness_variable

SERVER_NAME = "ralph"

MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""The limit for one message; with the SDK's 1 MB, a large file ends the session."""

TRIMMED_REQUEST = {
    # Ralph keeps memory between sessions; the CLI's would be a second, hidden one.
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # Background work would outlive its turn, unseen and uncounted.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    # Only ralph's sub-agents: the CLI's own have every tool and no limits.
    "CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS": "1",
    "CLAUDE_CODE_FORK_SUBAGENT": "0",
    # Otherwise a prompt-dependent header precedes the cached blocks.
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
    # Ralph does its own handoff; a silent summary mid-task would lose what the task needs.
    "DISABLE_AUTO_COMPACT": "1",
    "DISABLE_AUTOUPDATER": "1",
    # The request names all tools; a search for others would add a placeholder to each.
    "ENABLE_TOOL_SEARCH": "false",
}
"""Variables that trim from the request what the loop does not need."""

_PROVIDER_PREFIXES = ("ANTHROPIC_", "AWS_", "GOOGLE_", "AZURE_")

SETTINGS: Mapping[str, object] = MappingProxyType(
    {
        "attribution": {"commit": "", "pr": ""},
        "includeGitInstructions": False,
        # A skill may contain commands that run when it is read, without the guard.
        "disableSkillShellExecution": True,
    }
)


Log = Callable[[str], None]


def session_options(
    spec: SessionSpec,
    *,
    environment: dict[str, str],
    hooks: Hooks,
    server: McpSdkServerConfig,
    log: Log,
    cli_path: Path | None = None,
    plugin: Path | None = None,
) -> ClaudeAgentOptions:
    """Return the options for one session.

    Args:
        log: Receives the CLI's stderr line by line; none of it reaches fd 2.
    """
    # The guard is the PreToolUse hook, and the callback is intentionally only for what the CLI still
    # asks. A warning on fd 2 would garble the screen.
    warnings.filterwarnings("ignore", category=CanUseToolShadowedWarning)
    sources = cast("list[Literal['user', 'project', 'local']]", list(spec.setting_sources))
    given = {name: s.model_dump(exclude_defaults=True) for name, s in spec.mcp_servers.items()}
    servers = {n: {"type": "http", **s} if "url" in s else s for n, s in given.items()}
    idle_ms = str(spec.idle_timeout_seconds * 1000)
    helper = key_helper({**os.environ, **spec.environment, **environment})
    return ClaudeAgentOptions(
        tools=list(spec.tools),
        allowed_tools=[*spec.tools, *(f"mcp__{name}" for name in (SERVER_NAME, *spec.mcp_servers))],
        system_prompt={"type": "preset", "preset": "claude_code", "append": spec.system_prompt},
        mcp_servers={**cast("dict[str, Any]", servers), SERVER_NAME: server},
        strict_mcp_config=True,
        agents={
            agent.name: AgentDefinition(
                description=agent.description,
                prompt=agent.prompt,
                tools=list(agent.tools),
                maxTurns=agent.max_turns,
            )
            for agent in spec.sub_agents
        },
        permission_mode="default",
        max_turns=spec.max_turns,
        max_budget_usd=spec.max_budget_usd,
        model=spec.model,
        cwd=spec.cwd,
        cli_path=cli_path,
        settings=json.dumps({**SETTINGS, **({"apiKeyHelper": helper} if helper else {})}),
        sandbox=sandbox_settings(spec.sandbox),
        setting_sources=sources,
        skills=[f"{OWN_SERVER}:{path.name}" for path in spec.skills],
        plugins=[{"type": "local", "path": str(plugin)}] if plugin else [],
        env={
            **TRIMMED_REQUEST,
            "CLAUDE_CODE_MAX_RETRIES": str(spec.max_api_retries),
            "API_TIMEOUT_MS": str(max(600, spec.idle_timeout_seconds) * 1000),
            "CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS": idle_ms,
            "CLAUDE_STREAM_FIRST_BYTE_TIMEOUT_MS": idle_ms,
            **spec.environment,
            **environment,
            **witness_variable(spec.sandbox),
        },
        max_buffer_size=MAX_BUFFER_BYTES,
        stderr=log,
        can_use_tool=cast("Any", hooks.may_use_tool),
        hooks=hooks.matchers(),
        include_partial_messages=True,
        verbatim_prompts=True,
    )


def sandbox_settings(sandbox: Sandbox | None) -> SandboxSettings | None:
    """Return the CLI's sandbox settings; the SDK's type lacks some of them."""
    if sandbox is None:
        return None
    settings = {
        "enabled": True,
        "autoAllowBashIfSandboxed": True,
        "allowUnsandboxedCommands": False,
        # Otherwise the CLI silently drops a sandbox that breaks during the session.
        "failIfUnavailable": True,
        "filesystem": {
            "allowWrite": list(sandbox.allow_write),
            "denyWrite": list(sandbox.deny_write),
            "denyRead": list(sandbox.deny_read),
            # Without the journal, `node --test` ends at a link that leads nowhere.
            "allowRead": [os.path.realpath(f"{sandbox.witness}/events.jsonl")],
        },
        "network": {"allowedDomains": list(sandbox.domains)},
    }
    return cast("SandboxSettings", settings)


def key_hiding(spec: SessionSpec, inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that hides the CLI's keys from commands; it works only in the CLI's sandbox.

    The launch script passes some keys through pipes. Commands would see the others in their environment.
    Not used with extra MCP servers, which would lose variables that they need.
    """
    left = (name for name in inherited if is_secret_name(name) and name not in PIPED_KEYS)
    used = any(inherited[name] and name.startswith(_PROVIDER_PREFIXES) for name in left)
    hides = used and spec.sandbox is not None and not spec.mcp_servers
    return {"CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1"} if hides else {}


CallTool = Callable[[str, dict[str, JsonValue]], Awaitable[ToolAnswer]]


def tool_server(specs: tuple[ToolSpec, ...], call: CallTool) -> McpSdkServerConfig:
    return create_sdk_mcp_server(SERVER_NAME, tools=[_sdk_tool(spec, call) for spec in specs])


def _sdk_tool(spec: ToolSpec, call: CallTool) -> SdkMcpTool[Any]:
    async def handle(arguments: dict[str, JsonValue]) -> dict[str, Any]:
        try:
            answer = await call(spec.name, arguments)
        except Exception as error:  # noqa: BLE001 - the model needs an answer that it can act on
            text = f"{spec.name} failed: {one_line(str(error), 300)}"
            answer = ToolAnswer(text=text, is_error=True)
        return {"content": [{"type": "text", "text": answer.text}], "is_error": answer.is_error}

    return SdkMcpTool(
        name=spec.name,
        description=spec.description,
        input_schema=spec.input_schema,
        handler=handle,
        annotations=ToolAnnotations(readOnlyHint=spec.read_only),
    )
