"""The hooks through which the engine oversees a session; every guard path fails closed.

Shapes and failure modes are SDK-FACTS section 4: a hook that raises, returns None or misspells a key lets
the tool run unless its matcher says `on_failure="block"`, so outputs are made by the helpers below only.
"""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from claude_agent_sdk import (
    HookContext,
    HookInput,
    HookJSONOutput,
    HookMatcher,
)
from claude_agent_sdk.types import HookEvent

from ralph_tui.agent.permission_callback import PermissionCallback
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.extensions import OWN_SERVER, Picture, ToolOutput
from ralph_tui.domain.sanitize import head, one_line
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.core.ports import AgentItem, Supervisor

GUARD_TIMEOUT_SECONDS = 30.0
"""Seconds, far beyond the guard's own deadline. After a timeout the tool does not run."""

MAX_PICTURES = 5
MAX_PICTURE_CHARS = 4_000_000
"""Base64 of one picture, about 3 MB; a larger one is left out and the text says so."""

MAX_OUTPUT_CHARS = 4_000

HOLD_TIMEOUT_SECONDS = 2 * 3600.0
"""Seconds. After a tool the engine may wait for the hourly rate limit, up to 61 minutes; at the end of a turn
it may run every check."""

PASS: HookJSONOutput = {}
"""No opinion: the normal rules decide."""

Emit = Callable[[AgentItem], None]


def deny(reason: str) -> HookJSONOutput:
    """Refuse the tool; the model reads the reason."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def rewrite(tool_input: dict[str, Any]) -> HookJSONOutput:
    """Run the tool with another input; deny rules still see the new one."""
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": tool_input}}


def add_note(event: str, note: str) -> HookJSONOutput:
    """Let the model read `note` after the tool's result."""
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": note}}
    return cast("HookJSONOutput", output)


def keep_going(reason: str) -> HookJSONOutput:
    """Keep the turn from ending; the model reads the reason."""
    return {"decision": "block", "reason": reason}


def ask(reason: str, tool_input: dict[str, Any]) -> HookJSONOutput:
    """Make the CLI call `may_use_tool`, even for a tool that is allowed and inside the sandbox."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "ask",
            "permissionDecisionReason": reason,
            "updatedInput": tool_input,
        }
    }


class Hooks:
    """Hook callbacks bound to the current supervisor; a standby session has none yet."""

    def __init__(
        self,
        emit: Emit,
        started: Callable[[ToolCall], None],
        denied: Callable[[str], None],
        failed: Callable[[Exception], None],
        caught_up: Callable[[], Awaitable[None]],
        *,
        session: str,
    ) -> None:
        """Report to the session: calls and denials to its translator, failures to its feed.

        Args:
            emit: Takes what the hooks have to tell, in order with the CLI's messages.
            started: Takes every call before it is judged.
            denied: Takes the id of a call that does not run.
            failed: Takes what went wrong while the end of a turn was judged.
            caught_up: Waits until the messages that came before a hook are handled.
            session: The mark of everything that the session starts.
        """
        self.permits = PermissionCallback(emit, denied, session)
        self._session = session
        self._emit = emit
        self._started = started
        self._denied = denied
        self._failed = failed
        self._caught_up = caught_up
        self.judging_end = False
        """Whether the CLI waits for a judgment on the end of a turn, which may run every check."""

    @property
    def supervisor(self) -> Supervisor | None:
        """The supervisor that answers now."""
        return self.permits.supervisor

    def matchers(self) -> dict[HookEvent, list[HookMatcher]]:
        """Return the hooks that the SDK registers at connect."""
        guard = HookMatcher(
            hooks=[cast("Any", self._before_tool)],
            timeout=GUARD_TIMEOUT_SECONDS,
            on_failure="block",
        )
        after = HookMatcher(hooks=[cast("Any", self._after_tool)], timeout=HOLD_TIMEOUT_SECONDS)
        stop = HookMatcher(hooks=[cast("Any", self._on_stop)], timeout=HOLD_TIMEOUT_SECONDS)
        return {
            "PreToolUse": [guard],
            "PostToolUse": [after],
            "PostToolUseFailure": [after],
            "Stop": [stop],
        }

    async def _before_tool(
        self, data: HookInput, tool_use_id: str | None, _: HookContext
    ) -> HookJSONOutput:
        call = _call_of(data, tool_use_id, self._session)
        self._started(call)
        try:
            if self.supervisor is None:
                verdict = Verdict(decision="deny", rule="no-overseer", reason="No task is running")
            else:
                verdict = await self.supervisor.review_tool(call)
        except Exception as error:  # noqa: BLE001 - whatever went wrong, the tool must not run
            verdict = Verdict(
                decision="deny",
                rule="guard-failed",
                reason=f"The guard could not decide ({one_line(repr(error), 120)})",
                instead="Try a simpler command.",
            )
        return self._apply(call, verdict)

    def _apply(self, call: ToolCall, verdict: Verdict) -> HookJSONOutput:
        if verdict.decision == "deny":
            self._denied(call.tool_id)
            self._emit(
                ev.ToolDenied(
                    tool_id=call.tool_id,
                    name=call.name,
                    rule=verdict.rule,
                    part=verdict.part,
                    reason=verdict.reason,
                    instead=verdict.instead,
                )
            )
            return deny(verdict.message)
        tool_input = self._rewritten(call, verdict)
        if verdict.decision == "ask":
            self.permits.expect(call, verdict)
            return ask(verdict.message, tool_input)
        if verdict.asks:
            self.permits.tell_again(call, verdict)
        return rewrite(tool_input) if tool_input != call.input else PASS

    def _rewritten(self, call: ToolCall, verdict: Verdict) -> dict[str, Any]:
        """Return the input that will be used."""
        if verdict.command is None:
            return dict(call.input)
        before = str(call.input.get("command", ""))
        rule = "uv-run" if verdict.asks else verdict.rule
        self._emit(
            ev.ToolRewritten(tool_id=call.tool_id, before=before, after=verdict.command, rule=rule)
        )
        return {**call.input, "command": verdict.command}

    async def _after_tool(
        self, data: HookInput, tool_use_id: str | None, _: HookContext
    ) -> HookJSONOutput:
        if self.supervisor is None:
            return PASS
        call = _call_of(data, tool_use_id, self._session)
        await self._caught_up()
        after = await self.supervisor.after_tool(call, _output_of(call.name, data))
        if after.end_turn:
            return {"continue_": False, "stopReason": after.note or "The task is complete."}
        return add_note(data["hook_event_name"], after.note) if after.note else PASS

    async def _on_stop(self, data: HookInput, _: str | None, __: HookContext) -> HookJSONOutput:
        if self.supervisor is None:
            return PASS
        self.judging_end = True
        try:
            missing = await self.supervisor.on_stop(str(data.get("last_assistant_message") or ""))
        except Exception as error:  # noqa: BLE001 - the session must end, and say why
            self._failed(error)
            return PASS
        finally:
            self.judging_end = False
        return keep_going(missing) if missing else PASS


def _call_of(data: HookInput, tool_use_id: str | None, session: str) -> ToolCall:
    fields = cast("dict[str, Any]", data)
    return ToolCall(
        tool_id=tool_use_id or str(fields.get("tool_use_id", "")),
        name=str(fields.get("tool_name", "")),
        input=fields.get("tool_input") or {},
        agent_id=fields.get("agent_id"),
        session=session,
    )


def _output_of(name: str, data: HookInput) -> ToolOutput:
    """Return the output of an extra MCP server's tool, and nothing for any other tool."""
    own = name.startswith(f"mcp__{OWN_SERVER}__")
    returned = cast("dict[str, Any]", data).get("tool_response")
    if own or not name.startswith("mcp__") or returned is None:
        return ToolOutput()
    blocks = returned if isinstance(returned, list) else [{"type": "text", "text": returned}]
    texts: list[str] = []
    pictures: list[Picture] = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else ""
        picture = _picture(block.get("source")) if kind == "image" else None
        if picture is not None and len(pictures) < MAX_PICTURES:
            pictures.append(picture)
        elif kind == "image":
            texts.append("[a picture too large or too many was left out]")
        else:
            texts.append(str(block.get("text", "") if kind == "text" else block))
    return ToolOutput(text=head("\n".join(texts), MAX_OUTPUT_CHARS), pictures=tuple(pictures))


def _picture(source: object) -> Picture | None:
    if not isinstance(source, dict) or source.get("type") != "base64":
        return None
    content = str(source.get("data", ""))
    if not content or len(content) > MAX_PICTURE_CHARS:
        return None
    return Picture(data=content)
