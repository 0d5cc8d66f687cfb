"""Answers the CLI before a tool runs: the model's questions, and requests for permission.

The CLI requests permission if a hook says `ask`, and for what its own rules never allow unasked: to write below
`.git` or `.claude`, or through a symbolic link that leaves the project. The guard has already allowed such a call;
a call that it denies never gets here.
"""

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, ToolPermissionContext

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


class PermissionCallback:
    """Passes the CLI's questions to the current supervisor."""

    def __init__(
        self, emit: Callable[[AgentItem], None], denied: Callable[[str], None], session: str
    ) -> None:
        self._session = session
        self.supervisor: Supervisor | None = None
        self._emit = emit
        self._denied = denied
        self._expected: dict[str, tuple[ToolCall, Verdict]] = {}

    def expect(self, call: ToolCall, verdict: Verdict) -> None:
        self._expected[call.tool_id] = call, verdict

    def report_earlier_answer(self, call: ToolCall, verdict: Verdict) -> None:
        self._emit(
            ev.ToolAllowed(
                tool_id=call.tool_id,
                name=call.name,
                **verdict.model_dump(include={"rule", "part", "reason"}),
                scope="again",
            )
        )

    async def may_use_tool(
        self, name: str, tool_input: dict[str, Any], context: ToolPermissionContext
    ) -> Result:
        """Return whether the call may run. Any failure is a denial."""
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
        return PermissionResultDeny(message=_denial_text(ruling))

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


async def _decide(supervisor: Supervisor | None, call: ToolCall, wanted: Permission) -> Ruling:
    if supervisor is None:
        return Ruling(allowed=False, reason="No task is running", by=NOBODY)
    try:
        return await supervisor.permit(call, wanted)
    except Exception as error:  # noqa: BLE001 - on any error the tool must not run
        text = f"Nobody could be asked ({one_line(str(error), 200)})"
        return Ruling(allowed=False, reason=text, by=NOBODY)


def _denial_text(ruling: Ruling) -> str:
    if ruling.by == NOBODY:
        return f"Denied: {ruling.reason}. Continue without it."
    why = f": {ruling.reason}" if ruling.reason else " and gives no reason."
    return f"The person denies this call{why}\nDo not attempt it another way. Continue without it."


async def _ask(supervisor: Supervisor, tool_input: dict[str, Any]) -> Result:
    try:
        reply = await supervisor.ask(questions_of(tool_input))
    except Exception as error:  # noqa: BLE001 - the model must know that there is no answer
        return PermissionResultDeny(message=f"No answer: {one_line(str(error), 200)}")
    if reply.refused:
        return PermissionResultDeny(message=reply.refused)
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
