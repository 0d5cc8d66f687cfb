"""Implements the hooks by which the engine supervises a session; every guard path fails closed.

A hook that raises, returns None or misspells a key lets the tool run, unless its matcher has
`on_failure="block"`. So only `_output` and `_decision` create outputs for tools.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
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
from ralph_tui.domain.documents.questions import Option, Permission, Question
from ralph_tui.domain.permissions import NOBODY, Ruling
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.core.ports import AgentItem, Supervisor
from ralph_tui.engine.decisions.permission_questions import permission_of

ASK_TOOL = "AskUserQuestion"

MAX_PART = 300

Result = PermissionResultAllow | PermissionResultDeny


async def _decide(supervisor: Supervisor | None, call: ToolCall, wanted: Permission) -> Ruling:
    if supervisor is None:
        return Ruling(allowed=False, reason="No task is running", by=NOBODY)
    try:
        return await supervisor.permit(call, wanted)
    except Exception as error:  # noqa: BLE001 - on any error the tool must not run
        text = f"Nobody could be asked ({one_line(str(error), 200)})"
        return Ruling(allowed=False, reason=text, by=NOBODY)


async def _ask(supervisor: Supervisor, tool_input: dict[str, Any]) -> Result:
    try:
        reply = await supervisor.ask(questions_of(tool_input))
    except Exception as error:  # noqa: BLE001 - the model must know that there is no answer
        return PermissionResultDeny(message=f"No answer: {one_line(str(error), 200)}")
    if reply.refused:
        return PermissionResultDeny(message=reply.refused, interrupt=reply.ends_turn)
    return PermissionResultAllow(updated_input={**tool_input, "answers": reply.answers})


def questions_of(tool_input: dict[str, Any]) -> tuple[Question, ...]:
    """Return the questions of an AskUserQuestion call as inert text; the CLI has validated them."""
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


GUARD_TIMEOUT_SECONDS = 30.0
"""Far more than the guard's own deadline. After a timeout the tool does not run."""

HOLD_TIMEOUT_SECONDS = 2 * 3600.0
"""After a call, or its denial, the engine may wait up to 61 minutes for the hourly rate limit; at the end of a turn
it may run every check."""

PASS: HookJSONOutput = {}
"""No opinion: the normal rules decide."""

Emit = Callable[[AgentItem], None]


def _output(event: str, **fields: Any) -> HookJSONOutput:
    return cast("HookJSONOutput", {"hookSpecificOutput": {"hookEventName": event, **fields}})


def _decision(decision: str, reason: str, **fields: Any) -> HookJSONOutput:
    """Return the output that refuses a tool, or that makes the CLI call `may_use_tool` even for an allowed one."""
    return _output(
        "PreToolUse", permissionDecision=decision, permissionDecisionReason=reason, **fields
    )


class Hooks:
    """Hook callbacks that ask the current supervisor; a standby session has none yet.

    The CLI also calls `may_use_tool`: if a hook says `ask`, and for what its own rules never allow unasked, to write below
    `.git` or `.claude`, or through a symbolic link that leaves the project. A call that the guard denies never gets there.
    """

    def __init__(
        self,
        emit: Emit,
        started: Callable[[ToolCall], None],
        denied: Callable[[str], None],
        wait_for_messages: Callable[[], Awaitable[None]],
        *,
        session: str,
    ) -> None:
        """Report to the session: calls and denials to its translator."""
        self.supervisor: Supervisor | None = None
        self._emit = emit
        self._session = session
        self._denied = denied
        self._expected: dict[str, tuple[ToolCall, Verdict]] = {}
        self._started = started
        self._wait_for_messages = wait_for_messages
        self.judging_turn_end = False
        """Whether the end of a turn is being judged, which may run every check."""

    def matchers(self) -> dict[HookEvent, list[HookMatcher]]:
        guard = HookMatcher(
            hooks=[cast("Any", self._before_tool)],
            timeout=HOLD_TIMEOUT_SECONDS,
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
                async with asyncio.timeout(GUARD_TIMEOUT_SECONDS):
                    verdict = await self.supervisor.review_tool(call)
        except Exception as error:  # noqa: BLE001 - on any error the tool must not run
            verdict = Verdict(
                decision="deny",
                rule="guard-failed",
                reason=f"The guard could not decide ({one_line(repr(error), 120)})",
                instead="Try a simpler command.",
            )
        answer = self._apply(call, verdict)
        if verdict.decision == "deny" and self.supervisor is not None:
            with suppress(Exception):  # the call stays denied in any case
                await self._wait_for_messages()
                await self.supervisor.hold()  # a denied call leads to another request too
        return answer

    def _apply(self, call: ToolCall, verdict: Verdict) -> HookJSONOutput:
        told = {"rule": verdict.rule, "part": verdict.part, "reason": verdict.reason}
        if verdict.decision == "deny":
            self._denied(call.tool_id)
            self._emit(
                ev.ToolDenied(tool_id=call.tool_id, name=call.name, instead=verdict.instead, **told)
            )
            return _decision("deny", verdict.message)
        tool_input = self._rewritten(call, verdict)
        if verdict.decision == "ask":
            self._expected[call.tool_id] = call, verdict
            return _decision("ask", verdict.message, updatedInput=tool_input)
        if verdict.asks:
            self._emit(ev.ToolAllowed(tool_id=call.tool_id, name=call.name, scope="again", **told))
        return _output("PreToolUse", updatedInput=tool_input) if tool_input != call.input else PASS

    def _rewritten(self, call: ToolCall, verdict: Verdict) -> dict[str, Any]:
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
        await self._wait_for_messages()
        after = await self.supervisor.after_tool(call)
        if after.end_turn:
            return {"continue_": False, "stopReason": after.note or "The task is complete."}
        if not after.note:
            return PASS
        return _output(data["hook_event_name"], additionalContext=after.note)

    async def _on_stop(self, data: HookInput, _: str | None, __: HookContext) -> HookJSONOutput:
        if self.supervisor is None:
            return PASS
        self.judging_turn_end = True
        try:
            missing = await self.supervisor.on_stop(str(data.get("last_assistant_message") or ""))
        except Exception as error:  # noqa: BLE001 - the session must end and report the error
            text = f"The model's final message could not be checked: {one_line(str(error), 300)}"
            self._emit(ev.Notice(level="error", text=text))
            return PASS
        finally:
            self.judging_turn_end = False
        return {"decision": "block", "reason": missing} if missing else PASS

    async def may_use_tool(
        self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> Result:
        supervisor = self.supervisor
        if name == ASK_TOOL and supervisor is not None:
            return await _ask(supervisor, tool_input)
        tool_id = context.tool_use_id or ""
        before, verdict = self._expected.pop(tool_id, (None, None))
        call = ToolCall(
            tool_id=tool_id,
            name=name,
            input=tool_input,
            agent_id=context.agent_id,
            session=self._session,
        )
        asked = str(before.input.get("command") or "") if before is not None else ""
        said = context.decision_reason or ""
        permission = permission_of(call, verdict, asked=asked, said=said)
        ruling = await _decide(supervisor, call, permission)
        self._report(tool_id, permission, ruling)
        if ruling.allowed:
            return PermissionResultAllow(updated_input=tool_input)
        if ruling.by == NOBODY:
            text = f"Denied: {ruling.reason}. Continue without it."
        else:
            why = f": {ruling.reason}" if ruling.reason else " and gives no reason."
            text = f"The person denies this call{why}\nDo not attempt it another way. Continue without it."
        return PermissionResultDeny(message=text)

    def _report(self, tool_id: str, wanted: Permission, ruling: Ruling) -> None:
        part = one_line(wanted.argument, MAX_PART)
        if ruling.allowed:
            self._emit(
                ev.ToolAllowed(
                    tool_id=tool_id,
                    name=wanted.tool,
                    rule=wanted.rule,
                    part=part,
                    reason=wanted.reason,
                    scope=ruling.scope,
                    by=ruling.by,
                )
            )
            return
        self._denied(tool_id)
        self._emit(
            ev.ToolDenied(
                tool_id=tool_id,
                name=wanted.tool,
                rule=wanted.rule,
                part=part,
                reason=inert(ruling.reason) or "No reason was given",
                by="" if ruling.by == NOBODY else ruling.by,
            )
        )


def _call_of(data: HookInput, tool_use_id: str | None, session: str) -> ToolCall:
    fields = cast("dict[str, Any]", data)
    return ToolCall(
        tool_id=tool_use_id or str(fields.get("tool_use_id", "")),
        name=str(fields.get("tool_name", "")),
        input=fields.get("tool_input") or {},
        agent_id=fields.get("agent_id"),
        session=session,
    )
