"""Supervise an agent session: judge its tool calls, decide when a turn ends, and remind the model."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.agents_md import MAX_LINES, lines_of
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.permissions import NETWORK, Ruling
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import AfterTool, QuestionReply, Supervisor
from ralph_tui.engine.decisions.ask_person import QuestionChannel
from ralph_tui.engine.decisions.permission_questions import CallPermissions
from ralph_tui.engine.limits.waits import RateLimiter
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import bullets
from ralph_tui.engine.prompts.subagents import SubAgentRules
from ralph_tui.engine.session.prompt_memory import record_learning

INSTEAD = (
    "Replace or shorten what is there; what only later sessions of this work need goes to "
    "ralph_append_learning."
)
READ_BYTES = 1_000_000


class AgentsMdGuard:
    """Watches AGENTS.md during one session."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = self._count()

    def note(self, call: ToolCall) -> str:
        """Return the warning after a call made the file too long; repeated only when it grows again."""
        if call.name not in ("Bash", "Edit", "Write"):
            return ""
        lines, before = self._count(), self._lines
        self._lines = max(lines, MAX_LINES)
        if lines <= max(before, MAX_LINES):
            return ""
        return f"AGENTS.md has {lines} lines now. Prompts show its first {MAX_LINES}. {INSTEAD}"

    def _count(self) -> int:
        try:
            with self._path.open("rb") as file:
                return lines_of(file.read(READ_BYTES).decode("utf-8", "replace"))
        except OSError:  # missing or unreadable, which the agent's tool reports itself
            return 0


Handler = Callable[[rt.ToolInput], Awaitable[ToolAnswer]]

Missing = Callable[[], Awaitable[str | None]]
"""Returns what is still missing, as an instruction to the model; None if the work is complete."""

MAX_REMINDERS = 3


class SessionSupervisor(Supervisor):
    """Base of all session supervisors; a subclass adds its tools and decides when a turn ends.

    Attributes:
        wrap_up: A request to wrap up, sent once with the next tool's result; empty otherwise.
        ending: Why the turn must end after the current tool; empty while it may continue.
        handing_off: Whether the session is writing its hand-off.
    """

    def __init__(self, run: RunContext, task_id: str = "") -> None:
        self.wrap_up = ""
        self.ending = ""
        self.handing_off = False
        self._run = run
        self._permissions = CallPermissions(run, task_id)
        self._sub_agents = SubAgentRules()
        self._rate_limiter = RateLimiter(run)
        self._agents_file = AgentsMdGuard(run.project.layout.agents_md)

    # Defaults that a subclass may override.

    @property
    def working(self) -> bool:
        return True

    @property
    def withdrawn_reason(self) -> str:
        return ""

    @property
    def unanswered(self) -> bool:
        return False

    def report_edits(self) -> None: ...

    def session_verdict(self, call: ToolCall) -> Verdict | None:
        return self._sub_agents.review(call)

    def record_allowed(self, call: ToolCall) -> None: ...

    def record_denied(self, what: str) -> None: ...

    async def turn_end_reason(self, call: ToolCall) -> str:
        del call
        return ""

    def notes(self, call: ToolCall) -> tuple[str, ...]:
        del call
        return ()

    # Implementation of the port.

    @property
    def waiting_for_person(self) -> bool:
        return self._permissions.waiting or self._rate_limiter.holding

    async def review_tool(self, call: ToolCall) -> Verdict:
        """Judge a call by the session's rules, then by the guard and the person's earlier rulings."""
        own = self.session_verdict(call)
        verdict = own or self._permissions.known(await self._run.review(call))
        if verdict.decision == "deny":
            self._sub_agents.ended(call)
            self.record_denied(verdict.part or call.name)
        elif verdict.decision != "ask":
            await self._run.before_call(call)
            self.record_allowed(call)
        return verdict

    async def hold(self) -> None:
        await self._rate_limiter.hold(in_session=True)

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        """Ask the person about a call; their denial counts like one by the guard."""
        ruling = await self._permissions.permit(wanted)
        if ruling.allowed:
            if wanted.tool != NETWORK:  # a command that asks for network access is running already
                await self._run.before_call(call)
            self.record_allowed(call)
        else:
            self._sub_agents.ended(call)
            if wanted.tool != NETWORK:  # the command ran, and its output reports the missing access
                self.record_denied(", ".join(wanted.patterns) or wanted.tool)
        return ruling

    async def after_tool(self, call: ToolCall) -> AfterTool:
        """End the turn if there is a reason to; otherwise return the wrap-up request and the notes."""
        self._sub_agents.ended(call)
        run = self._run
        why = await stop_on_forbidden_write(run, call, run.review_written(call))
        why = why or await self.turn_end_reason(call)
        if not why and call.agent_id is None and not self.handing_off:
            why = self.ending
        if why:
            return AfterTool(end_turn=True, note=why)
        await self.hold()
        wrap_up, self.wrap_up = self.wrap_up, ""
        return AfterTool(note="\n".join(filter(None, (wrap_up, *self.notes(call)))))


@dataclass
class Submission:
    """A result that the model submits with one tool, once; `take` keeps it, or returns its problems."""

    tool: str
    what: str
    take: Callable[[rt.ToolInput], Awaitable[Sequence[str]]]
    taken: bool = False

    async def missing(self) -> str | None:
        return None if self.taken else f"The {self.what} is missing. Submit it with {self.tool}."

    async def submit(self, given: rt.ToolInput) -> ToolAnswer:
        if self.taken:
            return rt.error(f"The {self.what} is already accepted. Stop now.")
        if problems := await self.take(given):
            again = f"Submit the whole {self.what} again."
            return rt.error(f"NOT YET:\n{bullets(problems)}\n{again}")
        self.taken = True
        return rt.answer({"accepted": True, "next": "Stop now."})


@dataclass(frozen=True)
class SessionWork:
    """What a session without a task works on, in a phase or a step.

    Attributes:
        why: The reason for the session, for the person.
        handlers: Answer `ralph_*` tools of this work alone; one that submits the result ends the turn.
        asking: Asks the person the model's questions; None if no one is asked.
        findings: Counts the findings that a finished phase sends back to building.
    """

    prompt: str
    why: str
    missing: Missing
    handlers: Mapping[str, Handler]
    asking: QuestionChannel | None = None
    findings: Callable[[], int] = lambda: 0


class WorkSupervisor(SessionSupervisor):
    """Supervises the agent in a session without a task."""

    def __init__(self, run: RunContext, work: SessionWork) -> None:
        super().__init__(run)
        self._work = work
        self._handlers = {
            "ralph_append_learning": self._learn,
            "ralph_get_plan_summary": self._summarize_plan,
            **work.handlers,
        }
        self._reminders = 0

    @property
    def unanswered(self) -> bool:
        """Whether a question was left open because no one is there to answer it."""
        return self._work.asking is not None and bool(self._work.asking.unanswered)

    @property
    def waiting_for_person(self) -> bool:
        asking = self._work.asking
        return (asking is not None and asking.waiting) or super().waiting_for_person

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        given = rt.parse(name, arguments)
        if isinstance(given, ToolAnswer):
            return given
        if (handler := self._handlers.get(name)) is None:
            return rt.error(f"{name} is not used here.")
        return await handler(given)

    async def turn_end_reason(self, call: ToolCall) -> str:
        submits = call.name.startswith("mcp__ralph__ralph_submit_")
        return "The phase is complete." if submits and await self._work.missing() is None else ""

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        if self._work.asking is None:
            return QuestionReply(refused="Questions are not possible here. Decide yourself.")
        return await self._work.asking.ask(questions)

    async def on_stop(self, last_message: str) -> str | None:
        del last_message
        if self._reminders >= MAX_REMINDERS or self.ending:
            return None
        self._reminders += 1
        return await self._work.missing()

    async def _learn(self, given: rt.ToolInput) -> ToolAnswer:
        assert isinstance(given, rt.Learning)
        return await record_learning(self._run, given)

    async def _summarize_plan(self, _: rt.ToolInput) -> ToolAnswer:
        return rt.plan_summary(self._run.docs.plan)


async def stop_on_forbidden_write(run: RunContext, call: ToolCall, verdict: Verdict) -> str:
    """Stop the loop if a file was written to a forbidden place; return the reason, or an empty string."""
    if verdict.decision != "deny":
        return ""
    why = (
        f"{call.name} was allowed to write {one_line(verdict.part, 120)}, but the path now leads elsewhere "
        f"({verdict.reason[:1].lower()}{verdict.reason[1:]})"
    )
    text = f"{why}. A link was changed in between. Check what was written there, then run again."
    run.emit(ev.Notice(level="error", text=text))
    await run.project_state.transact(lambda docs: docs.with_state(stop=StopMode.NOW, stop_why=why))
    return why
