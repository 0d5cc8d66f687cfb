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
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import HookEvent

from ralph_tui.domain import events as ev
from ralph_tui.domain.extras import OWN_SERVER, Picture, ToolOutput
from ralph_tui.domain.questions import Option, Question
from ralph_tui.domain.text import head, inert, one_line
from ralph_tui.domain.tools import ToolCall, Verdict
from ralph_tui.engine.ports import AgentItem, Overseer

GUARD_TIMEOUT_SECONDS = 30.0
"""Long past the guard's own deadline; a timeout means the tool does not run."""

MAX_PICTURES = 5
MAX_PICTURE_CHARS = 4_000_000
"""Base64 of one picture, about 3 MB; a larger one is left out and the text says so."""

MAX_OUTPUT_CHARS = 4_000

HOLD_TIMEOUT_SECONDS = 2 * 3600.0
"""After a tool the engine may wait until another request fits into the hour; a hold lasts 61 minutes."""

ASK_TOOL = "AskUserQuestion"

PASS: HookJSONOutput = {}
"""No opinion: the normal rules decide."""

Emit = Callable[[AgentItem], None]
HookFunction = Callable[[HookInput, str | None, HookContext], Awaitable[HookJSONOutput]]


def deny(reason: str) -> HookJSONOutput:
    """The tool does not run; the model reads the reason."""
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    }


def rewrite(tool_input: dict[str, Any]) -> HookJSONOutput:
    """The tool runs with another input; deny rules still see the new one."""
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": tool_input}}


def add_note(event: str, note: str) -> HookJSONOutput:
    """The model reads `note` after the tool's result."""
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": note}}
    return cast("HookJSONOutput", output)


def keep_going(reason: str) -> HookJSONOutput:
    """The turn does not end; the model reads the reason."""
    return {"decision": "block", "reason": reason}


def questions_of(tool_input: dict[str, Any]) -> tuple[Question, ...]:
    """The questions of an AskUserQuestion call, made inert; the CLI has checked their shape."""
    return tuple(
        Question(
            question=inert(str(raw.get("question", ""))),
            header=inert(str(raw.get("header", ""))),
            multi_select=bool(raw.get("multiSelect", False)),
            options=tuple(
                Option(
                    label=inert(str(option.get("label", ""))),
                    description=inert(str(option.get("description", ""))),
                    preview=inert(str(option.get("preview", ""))),
                )
                for option in raw.get("options", ())
            ),
        )
        for raw in tool_input.get("questions", ())
    )


class Hooks:
    """Hook callbacks bound to whoever oversees the session now; a standby session has nobody yet."""

    def __init__(
        self,
        emit: Emit,
        started: Callable[[ToolCall], None],
        denied: Callable[[str], None],
    ) -> None:
        """Report calls and denials to the session's translator and feed."""
        self.overseer: Overseer | None = None
        self._emit = emit
        self._started = started
        self._denied = denied

    def matchers(self) -> dict[HookEvent, list[HookMatcher]]:
        """What the SDK registers at connect."""
        guard = HookMatcher(
            hooks=[cast("Any", self._before_tool)],
            timeout=GUARD_TIMEOUT_SECONDS,
            on_failure="block",
        )
        after = HookMatcher(hooks=[cast("Any", self._after_tool)], timeout=HOLD_TIMEOUT_SECONDS)
        stop = HookMatcher(hooks=[cast("Any", self._on_stop)], timeout=GUARD_TIMEOUT_SECONDS)
        return {
            "PreToolUse": [guard],
            "PostToolUse": [after],
            "PostToolUseFailure": [after],
            "Stop": [stop],
        }

    async def may_use_tool(
        self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        """What the CLI itself will not decide is refused: nobody is asked behind the guard's back."""
        if name == ASK_TOOL and self.overseer is not None:
            return await self._ask(self.overseer, tool_input)
        reason = f"{name} needs a permission that an unattended loop does not give."
        self._denied(context.tool_use_id or "")
        self._emit(
            ev.ToolDenied(
                tool_id=context.tool_use_id or "", name=name, rule="cli-permission", reason=reason
            )
        )
        return PermissionResultDeny(message=reason)

    async def _ask(
        self, overseer: Overseer, tool_input: dict[str, Any]
    ) -> PermissionResultAllow | PermissionResultDeny:
        """Answer by question text (SDK-FACTS section 5.2); a refusal lets the turn go on."""
        try:
            reply = await overseer.ask(questions_of(tool_input))
        except Exception as error:  # noqa: BLE001 - the model must learn that there is no answer
            return PermissionResultDeny(message=f"No answer: {one_line(str(error), 200)}")
        if reply.refused:
            return PermissionResultDeny(message=reply.refused)
        return PermissionResultAllow(updated_input={**tool_input, "answers": reply.answers})

    async def _before_tool(
        self, data: HookInput, tool_use_id: str | None, _: HookContext
    ) -> HookJSONOutput:
        call = _call_of(data, tool_use_id)
        self._started(call)
        try:
            if self.overseer is None:
                verdict = Verdict(decision="deny", rule="no-overseer", reason="No task is running")
            else:
                verdict = await self.overseer.review_tool(call)
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
        if verdict.decision == "rewrite" and verdict.command is not None:
            before = str(call.input.get("command", ""))
            self._emit(
                ev.ToolRewritten(
                    tool_id=call.tool_id, before=before, after=verdict.command, rule=verdict.rule
                )
            )
            return rewrite({**call.input, "command": verdict.command})
        return PASS

    async def _after_tool(
        self, data: HookInput, tool_use_id: str | None, _: HookContext
    ) -> HookJSONOutput:
        if self.overseer is None:
            return PASS
        call = _call_of(data, tool_use_id)
        after = await self.overseer.after_tool(call, _output_of(call.name, data))
        if after.end_turn:
            return {"continue_": False, "stopReason": after.note or "The task is complete."}
        return add_note(data["hook_event_name"], after.note) if after.note else PASS

    async def _on_stop(self, data: HookInput, _: str | None, __: HookContext) -> HookJSONOutput:
        if self.overseer is None:
            return PASS
        missing = await self.overseer.on_stop(str(data.get("last_assistant_message", "")))
        return keep_going(missing) if missing else PASS


def _call_of(data: HookInput, tool_use_id: str | None) -> ToolCall:
    fields = cast("dict[str, Any]", data)
    return ToolCall(
        tool_id=tool_use_id or str(fields.get("tool_use_id", "")),
        name=str(fields.get("tool_name", "")),
        input=fields.get("tool_input") or {},
        agent_id=fields.get("agent_id"),
    )


def _output_of(name: str, data: HookInput) -> ToolOutput:
    """What a tool of an extra MCP server returned; nothing of any other tool."""
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
    return Picture(media_type=str(source.get("media_type", "")), data=content)
