"""Reviews every tool call of an agent. Any failure is a denial."""

import os.path
from collections import deque
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.extensions import OWN_SERVER
from ralph_tui.domain.tool_calls import ALLOW, ToolCall, Verdict
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.core.paths import WRITE_TOOLS, absolute, judge_path
from ralph_tui.guard.core.policy import SKILL_TOOL, Policy
from ralph_tui.guard.core.verdicts import EMPTY, ask_verdict, denial
from ralph_tui.guard.rules.secrets import is_secret, memory_denial, reads_memory, secret_denial

_MAX_PENDING_WRITES = 256

COMMAND_TOOLS = frozenset({"Bash", "Monitor", "PowerShell"})
_READ_TOOLS = frozenset({"Read", "Grep", "Glob"})

_OWN_TOOLS = f"mcp__{OWN_SERVER}__"


def may_write_unnamed_files(name: str) -> bool:
    return name in COMMAND_TOOLS or (name.startswith("mcp__") and not name.startswith(_OWN_TOOLS))


def may_write(name: str) -> bool:
    return may_write_unnamed_files(name) or name in WRITE_TOOLS


_ALIASES = {"Agent": "Task", "MultiEdit": "Edit"}
_PATH_ARGUMENTS = ("path", "file", "dir", "folder", "uri", "destination", "target")
_READING_VERBS = ("get", "read", "list", "search", "find", "fetch", "query", "show", "stat")


class Guard:
    """Reviews tool calls under one policy. Whoever gives it the judge of commands closes it."""

    def __init__(self, policy: Policy, commands: CommandJudge) -> None:
        self.policy = policy
        self._commands = commands
        self._pending_writes: deque[str] = deque(maxlen=_MAX_PENDING_WRITES)

    async def review(self, call: ToolCall) -> Verdict:
        try:
            verdict = _ask_if_listed(call, await self._review(call), self.policy)
        except Exception as error:  # noqa: BLE001 - a guard that breaks must not let the call through
            reason = f"The guard failed ({type(error).__name__}: {error})"
            return denial("guard-failed", call.name, reason, "Use another command or tool.")
        if call.name in WRITE_TOOLS and verdict.decision != "deny":
            self._pending_writes.append(call.tool_id)
        return verdict

    def recheck_write(self, call: ToolCall) -> Verdict:
        """Judge an allowed write a second time, after the fact: by now its path may lead elsewhere."""
        if call.tool_id not in self._pending_writes:
            return ALLOW
        self._pending_writes.remove(call.tool_id)
        return _review_write(call, self.policy)

    async def _review(self, call: ToolCall) -> Verdict:
        if call.name.startswith("mcp__"):
            return _review_mcp(call, self.policy)
        name = _ALIASES.get(call.name, call.name)
        if name not in self.policy.tools:
            return _not_in_phase(call.name, self.policy)
        if name == SKILL_TOOL:
            return _review_skill(call, self.policy)
        if call.name in COMMAND_TOOLS:
            command = call.input.get("command")
            if not isinstance(command, str) or not command.strip():
                return EMPTY
            return await self._commands.judge(command, self.policy)
        if call.name in WRITE_TOOLS:
            return _review_write(call, self.policy)
        return _review_read(call, self.policy) if name in _READ_TOOLS else ALLOW


def _ask_if_listed(call: ToolCall, verdict: Verdict, policy: Policy) -> Verdict:
    listed = (call.name, _ALIASES.get(call.name, call.name), *_server_of(call.name))
    named = [entry for entry in policy.ask_commands if entry in listed]
    if verdict.decision == "deny" or not named or call.name.startswith(_OWN_TOOLS):
        return verdict
    asks = dict.fromkeys((*verdict.asks, *named), verdict.part or call.name)
    return ask_verdict(verdict, asks)


def _server_of(name: str) -> tuple[str, ...]:
    return ("__".join(name.split("__")[:2]),) if name.startswith("mcp__") else ()


def _not_in_phase(name: str, policy: Policy) -> Verdict:
    tools = ", ".join(policy.tools)
    reason = f"The tool is not available in the {policy.phase} phase"
    return denial("tool-not-in-phase", name, reason, f"Use one of: {tools}.")


def _review_skill(call: ToolCall, policy: Policy) -> Verdict:
    name = str(call.input.get("skill", ""))
    if name in policy.skills:
        return ALLOW
    reason = f"The skill is not available in the {policy.phase} phase"
    return denial("skill-not-in-phase", name, reason, f"Use one of: {', '.join(policy.skills)}.")


def _review_write(call: ToolCall, policy: Policy) -> Verdict:
    paths = [v for k in ("file_path", "notebook_path", "path") if (v := call.input.get(k))]
    if not paths or not all(isinstance(path, str) for path in paths):
        return denial("bad-path", call.name, "The call names no file", "Give file_path.")
    verdicts = (judge_path(call.name, str(path), policy) for path in paths)
    return next((v for v in verdicts if v.decision != "allow"), ALLOW)


def _review_read(call: ToolCall, policy: Policy) -> Verdict:
    values = (call.input.get(key) for key in ("file_path", "path", "pattern"))
    for path in (value for value in values if isinstance(value, str)):
        if reads_memory(path):
            return memory_denial(f"{call.name} {path}")
        if is_secret(os.path.realpath(absolute(path, policy)), policy):
            return secret_denial(f"{call.name} {path}")
    return ALLOW


def _review_mcp(call: ToolCall, policy: Policy) -> Verdict:
    _, server, tool = (*call.name.split("__", 2), "")[:3]
    if server == "ralph":
        if call.agent_id is None or tool.startswith("ralph_get_"):
            return ALLOW
        reason = "A sub-agent may read ralph's state but not change it"
        return denial("sub-agent-state", tool, reason, "Report back. The main agent records it.")
    if server not in policy.mcp_servers:
        return _not_in_phase(call.name, policy)
    if tool.casefold().startswith(_READING_VERBS):
        return ALLOW
    verdicts = (judge_path("Write", path, policy) for path in _path_arguments(call.input))
    return next((v for v in verdicts if v.decision != "allow"), ALLOW)


def _path_arguments(arguments: Mapping[str, JsonValue]) -> Iterator[str]:
    for key, value in arguments.items():
        named = any(word in key.casefold() for word in _PATH_ARGUMENTS)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                yield from _path_arguments(item)
            elif named and isinstance(item, str) and not item.startswith(("http:", "https:")):
                yield item.removeprefix("file://")
