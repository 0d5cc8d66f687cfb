"""Supervise a phase session: its tools, its guard, and what is still missing."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.permissions import Ruling
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import AfterTool, QuestionReply
from ralph_tui.engine.decisions.ask_person import QuestionChannel
from ralph_tui.engine.decisions.call_permissions import CallPermissions
from ralph_tui.engine.limits.rate_limiter import RateLimiter
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.subagents import SubAgentRules
from ralph_tui.engine.safety.symlink_check import stop_if_astray
from ralph_tui.engine.session.learnings import record_learning

Handler = Callable[[rt.ToolInput], Awaitable[ToolAnswer]]
OnOutput = Callable[[ToolCall, ToolOutput], Awaitable[None]]
"""Takes what an extra tool returned."""

Missing = Callable[[], Awaitable[str | None]]
"""What the phase still lacks, as an order to the model; None when its criteria are met."""

MAX_REMINDERS = 3


class PhaseSupervisor:
    """Answers the agent in a phase that has no task."""

    def __init__(
        self,
        run: RunContext,
        *,
        missing: Missing,
        handlers: Mapping[str, Handler],
        asking: QuestionChannel | None = None,
        ends_turn: frozenset[str] = frozenset(),
        on_output: OnOutput | None = None,
    ) -> None:
        """Serve the tools in `handlers`; those in `ends_turn` end it when nothing is missing."""
        self.handing_off = False
        self.wrap_up = ""
        self.ending = ""
        self._run = run
        self._missing = missing
        self._handlers = handlers
        self._asking = asking
        self._ends_turn = {f"mcp__ralph__{name}" for name in ends_turn}
        self._on_output = on_output
        self._reminders = 0
        self._sub_agents = SubAgentRules()
        self._rate_limiter = RateLimiter(run)
        self._permissions = CallPermissions(run)

    @property
    def working(self) -> bool:
        """A phase session works until its turn ends."""
        return True

    @property
    def taken_away(self) -> str:
        """There is no task that could be taken away."""
        return ""

    @property
    def unanswered(self) -> bool:
        """Whether a question was left open because nobody is there to answer it."""
        return self._asking is not None and bool(self._asking.unanswered)

    def mind_edits(self) -> None:
        """There is no task that could be edited."""

    @property
    def waiting_for_person(self) -> bool:
        """Whether a question is open or permission waited for, or the hour's requests are used up."""
        asked = self._asking is not None and self._asking.waiting
        return asked or self._permissions.waiting or self._rate_limiter.holding

    async def review_tool(self, call: ToolCall) -> Verdict:
        """The verdict of the rules for sub-agents and of the guard."""
        own = self._sub_agents.review(call)
        verdict = own or self._permissions.known(await self._run.review(call))
        if verdict.decision == "deny":
            self._sub_agents.ended(call)
        return verdict

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        """The person's ruling."""
        ruling = await self._permissions.permit(wanted)
        if ruling.allowed:
            self._run.may_write(call)
        else:
            self._sub_agents.ended(call)
        return ruling

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool of this phase."""
        given = rt.parse(name, arguments)
        if isinstance(given, ToolAnswer):
            return given
        handler = self._handlers.get(name) or _COMMON.get(name, self._unknown)(self)
        return await handler(given)

    @staticmethod
    def _unknown(_: "PhaseSupervisor") -> Handler:
        async def refuse(given: rt.ToolInput) -> ToolAnswer:
            return rt.error(f"{type(given).__name__} has no use in this phase.")

        return refuse

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> AfterTool:
        """End the turn after the tool that hands in the result."""
        self._sub_agents.ended(call)
        run = self._run
        astray = await stop_if_astray(run.project_state, run.emit, call, run.landed(call))
        if astray:
            return AfterTool(end_turn=True, note=astray)
        if self._on_output is not None and output != ToolOutput():
            await self._on_output(call, output)
        if call.name in self._ends_turn and await self._missing() is None:
            return AfterTool(end_turn=True, note="The phase has what it needs.")
        if call.agent_id is None and self.ending:
            return AfterTool(end_turn=True, note=self.ending)
        await self._rate_limiter.hold(in_session=True)
        note, self.wrap_up = self.wrap_up, ""
        return AfterTool(note=note)

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Put questions to the person, where the phase has any."""
        if self._asking is None:
            return QuestionReply(refused="Nobody is asked in this phase. Decide yourself.")
        return await self._asking.ask(questions)

    async def on_stop(self, last_message: str) -> str | None:
        """Tell the model what the phase still lacks, a few times."""
        del last_message
        if self._reminders >= MAX_REMINDERS or self.ending:
            return None
        self._reminders += 1
        return await self._missing()

    async def learn(self, given: rt.ToolInput) -> ToolAnswer:
        """Record a learning."""
        assert isinstance(given, rt.Learning)
        return await record_learning(self._run, given, may_edit=False)

    async def plan(self, _: rt.ToolInput) -> ToolAnswer:
        """Summarise the plan."""
        return rt.plan_summary(self._run.project_state.docs.plan)


_COMMON: Mapping[str, Callable[[PhaseSupervisor], Handler]] = {
    "ralph_append_learning": lambda supervisor: supervisor.learn,
    "ralph_get_plan_summary": lambda supervisor: supervisor.plan,
}
