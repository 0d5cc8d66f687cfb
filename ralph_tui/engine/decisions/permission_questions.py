"""Ask for permission for single calls, on disk like every other question; it lasts one session at most."""

import asyncio
import uuid
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.questions import AskedQuestion, Permission
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.permissions import (
    ASK_FIRST,
    CHECK_FILES,
    CLI,
    NETWORK,
    NOBODY,
    UNASKED,
    Ruling,
    question_of,
    ruling_of,
)
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.project_state import ProjectState, answered
from ralph_tui.engine.decisions.ask_person import Expiry, expiry, tell_nobody_answered
from ralph_tui.store.project import Documents

OWN_RULES = (
    "The CLI's own settings want it to be asked about (permissions.ask, or a sensitive path)"
)

SHUT = (
    "The sandbox lets commands reach only the hosts in safety.sandbox_domains; "
    f"with {NETWORK} in safety.ask_commands the person would be asked"
)


def permission_of(
    call: ToolCall, verdict: Verdict | None, *, asked: str, said: str, check: bool = False
) -> Permission:
    """Return what to ask about a call, as it will run.

    Args:
        call: With the input that will be used.
        verdict: The guard's, when it is why the person is asked.
        asked: The command as the agent wrote it.
        said: The CLI's own words for why it asks.
        check: It is the gate's and not the agent's.
    """
    argument = argument_of(call)
    asked = inert(asked)
    listed = verdict is not None and said in ("", verdict.message)
    listing = " and ".join(f"`{entry}`" for entry in verdict.asks) if verdict else ""
    reasons = (
        f"safety.ask_commands lists {listing}" if listing else "",
        "" if listed else inert(said or OWN_RULES),
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
    """Return everything a person must see of a call, made inert."""
    if call.name == "Bash":
        return inert(str(call.input.get("command", "")))
    if len(call.input) == 1:
        return inert(str(next(iter(call.input.values()))))
    return inert("\n".join(_lines(call.input)))


def _lines(tool_input: Mapping[str, JsonValue]) -> list[str]:
    return [f"{n}:\n{v}" if "\n" in str(v) else f"{n}: {v}" for n, v in tool_input.items()]


class CallPermissions:
    """Asks about the calls of one agent session; its permissions end with it."""

    def __init__(self, run: RunContext, task_id: str | None = None) -> None:
        """Nothing is allowed yet."""
        self._run = run
        self._task_id = task_id
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._granted: set[tuple[str, str]] = set()
        self._withdrawing: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> bool:
        """Whether a person is waited for."""
        return self._waiting > 0

    async def permit(self, wanted: Permission) -> Ruling:
        """Ask about one call at a time and wait; a call covered by an earlier answer is not asked about."""
        if refused := self._refused_at_once(wanted):
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
        """Return the ruling on a command that checks a claim and is on the person's list."""
        if self.known(verdict).decision != "ask":
            return Ruling(allowed=True, scope="again")
        runs = {"command": verdict.command or command}
        call = ToolCall(tool_id="gate", name="Bash", input=runs)
        return await self.permit(permission_of(call, verdict, asked=command, said="", check=True))

    def known(self, verdict: Verdict) -> Verdict:
        """Return the verdict without its question where an earlier answer covers all of it.

        It is not said to be allowed: the CLI's own rules may want the person to be asked all the same.
        """
        if verdict.decision != "ask" or not _listed(verdict.asks) <= self._granted:
            return verdict
        decision = "allow" if verdict.command is None else "rewrite"
        return verdict.model_copy(update={"decision": decision})

    def _refused_at_once(self, wanted: Permission) -> str:
        """Say why nobody is asked; empty when somebody is."""
        settings = self._run.settings
        if wanted.tool == NETWORK and NETWORK not in settings.safety.ask_commands:
            return SHUT
        phase = self._run.docs.state.current_phase
        alone = phase is Phase.DISCOVERY and not settings.phases.discovery.human_in_loop
        return UNASKED if alone or not self._run.answerable else ""

    async def _ask(self, wanted: Permission) -> Ruling:
        batch, project_state = uuid.uuid4().hex[:8], self._run.project_state
        now = self._run.clock()
        asked = AskedQuestion(
            id=f"q-{batch}-1",
            batch=batch,
            phase=project_state.docs.state.current_phase,
            task_id=self._task_id,
            question=question_of(wanted),
            permission=wanted,
            asked_at=now,
            expires_at=expiry(self._run, now),
        )
        try:
            (then,) = await answered(
                project_state, (asked,), until=Expiry(self._run, asked.expires_at)
            )
        except asyncio.CancelledError:  # the turn was interrupted, or the CLI is gone
            await self._withdraw(asked.id)
            raise
        if then.is_open:
            await self._stop_waiting(then)
        if then.answer is None:
            return Ruling(allowed=False, reason=UNASKED, by=NOBODY)
        return ruling_of(then.answer)

    async def _stop_waiting(self, asked: AskedQuestion) -> None:
        """End the run: what the agent would do without an answer is not for it to say."""
        about = one_line(asked.question.question, 200)
        waited = duration(self._run.settings.limits.ask_timeout_seconds)

        def change(docs: Documents) -> Documents:
            log = docs.questions.changing(asked.id, withdrawn=True)
            why = f"nobody answered in {waited}: {about}"
            return docs.with_state(stop=StopMode.NOW, stop_why=why, unanswered=True).replacing(
                questions=log
            )

        tell_nobody_answered(self._run, about)
        await self._run.project_state.transact(change)

    async def _withdraw(self, question_id: str) -> None:
        """Take it back, also when whoever waits for that is cancelled once more."""

        def change(docs: Documents) -> Documents:
            log = docs.questions.changing(question_id, withdrawn=True)
            return docs.replacing(questions=log)

        async def withdraw() -> None:
            await self._run.project_state.transact(change)

        task = asyncio.create_task(withdraw(), name="ralph-withdraw")
        self._withdrawing.add(task)
        task.add_done_callback(self._withdrawing.discard)
        await asyncio.shield(task)


def _keys(wanted: Permission) -> set[tuple[str, str]]:
    """What an allowance for the session is remembered by."""
    listed = () if wanted.tool == CHECK_FILES else wanted.patterns
    return _listed(listed) or {(wanted.tool, wanted.argument)}


def _listed(patterns: Iterable[str]) -> set[tuple[str, str]]:
    return {(ASK_FIRST, pattern) for pattern in patterns}


async def withdraw_left_over(project_state: ProjectState, phase: Phase) -> None:
    """Withdraw what a session that is gone asked; discovery itself decides about its own questions."""

    def change(docs: Documents) -> Documents:
        left = docs.questions.open()
        log = docs.questions
        for asked in left:
            if asked.permission is not None or phase is not Phase.DISCOVERY:
                log = log.changing(asked.id, withdrawn=True)
        return docs.replacing(questions=log) if left else docs

    await project_state.transact(change)
