"""Ask the person for permission for single tool calls; a permission lasts one session at most."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from ralph_tui.domain.documents.questions import Permission
from ralph_tui.domain.permissions import (
    CHECK_FILES,
    CLI,
    NETWORK,
    NOBODY,
    UNASKED,
    Ruling,
    parse_ruling,
    permission_question,
)
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.tool_calls import ASK_FIRST, ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.decisions.ask_person import ask_alone

CLI_RULES = "The settings of the Claude Code CLI require your permission (permissions.ask, or a sensitive path)"

HOST_BLOCKED = (
    "The sandbox allows only the hosts in safety.sandbox_domains. "
    f"To be asked about other hosts, add {NETWORK} to safety.ask_commands"
)


def permission_of(
    call: ToolCall, verdict: Verdict | None, *, asked: str, said: str, check: bool = False
) -> Permission:
    """Return the permission to ask for; `verdict` is the guard's if it asks, and `check` means that the gate runs the command."""
    argument = argument_of(call)
    asked = inert(asked)
    listed = verdict is not None and said in ("", verdict.message)
    listing = " and ".join(f"`{entry}`" for entry in verdict.asks) if verdict else ""
    reasons = (
        f"safety.ask_commands lists {listing}" if listing else "",
        "" if listed else inert(said or CLI_RULES),
    )
    return Permission(
        tool=call.name,
        argument=argument,
        asked="" if asked == argument else asked,
        rule=ASK_FIRST if verdict is not None else CLI,
        reason="; ".join(filter(None, reasons)),
        patterns=verdict.asks if verdict is not None and listed else (),
        sub_agent=call.agent_id is not None,
        check=check,
        tool_id="" if check else call.tool_id,
    )


def argument_of(call: ToolCall) -> str:
    if call.name == "Bash":
        return inert(str(call.input.get("command", "")))
    if len(call.input) == 1:
        return inert(str(next(iter(call.input.values()))))
    lines = (f"{n}:\n{v}" if "\n" in str(v) else f"{n}: {v}" for n, v in call.input.items())
    return inert("\n".join(lines))


class CallPermissions:
    """Asks for permission for the calls of one agent session; the answers end with the session."""

    def __init__(self, run: RunContext, task_id: str | None = None) -> None:
        self._run = run
        self._task_id = task_id
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._granted: set[tuple[str, str]] = set()

    @property
    def waiting(self) -> bool:
        return self._waiting > 0

    async def permit(self, wanted: Permission) -> Ruling:
        """Ask about one call at a time and wait, unless an earlier answer covers the call."""
        if refused := self._refusal_without_asking(wanted):
            return Ruling(allowed=False, reason=refused, by=NOBODY)
        self._waiting += 1
        try:
            async with self._turn:
                keys = _keys(wanted)
                if keys <= self._granted:
                    return Ruling(allowed=True, scope="again")
                ruling = await self._ask(wanted)
                if ruling.allowed and ruling.scope == "session":
                    self._granted |= keys
                return ruling
        finally:
            self._waiting -= 1

    async def permit_check(self, command: str, verdict: Verdict) -> Ruling:
        """Return the ruling on a gate command that `safety.ask_commands` lists."""
        if self.known(verdict).decision != "ask":
            return Ruling(allowed=True, scope="again")
        call = ToolCall(tool_id="gate", name="Bash", input={"command": verdict.command or command})
        return await self.permit(permission_of(call, verdict, asked=command, said="", check=True))

    def known(self, verdict: Verdict) -> Verdict:
        """Return the verdict, without the need to ask if an earlier answer covers the whole call.

        The CLI's own rules may still ask the person.
        """
        if verdict.decision != "ask" or not _pattern_keys(verdict.asks) <= self._granted:
            return verdict
        return replace(verdict, decision="allow" if verdict.command is None else "rewrite")

    def _refusal_without_asking(self, wanted: Permission) -> str:
        settings = self._run.settings
        if wanted.tool == NETWORK and NETWORK not in settings.safety.ask_commands:
            return HOST_BLOCKED
        phase = self._run.docs.state.current_phase
        alone = phase is Phase.DISCOVERY and not settings.phases.discovery.human_in_loop
        return UNASKED if alone or not self._run.request.answerable else ""

    async def _ask(self, wanted: Permission) -> Ruling:
        answer = await ask_alone(
            self._run,
            permission_question(wanted),
            phase=self._run.docs.state.current_phase,
            task_id=self._task_id,
            permission=wanted,
        )
        if answer is None:  # the agent may not decide without an answer
            return Ruling(allowed=False, reason=UNASKED, by=NOBODY)
        return parse_ruling(answer)


def _keys(wanted: Permission) -> set[tuple[str, str]]:
    listed = () if wanted.tool == CHECK_FILES else wanted.patterns
    return _pattern_keys(listed) or {(wanted.tool, wanted.argument)}


def _pattern_keys(patterns: Iterable[str]) -> set[tuple[str, str]]:
    return {(ASK_FIRST, pattern) for pattern in patterns}
