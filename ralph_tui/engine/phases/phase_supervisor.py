"""Supervise a session of a phase without tasks: its tools, its questions, and what is still missing."""

from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Question
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.ports import QuestionReply
from ralph_tui.engine.decisions.ask_person import QuestionChannel
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.session.learnings import record_learning
from ralph_tui.engine.session.supervisor import SessionSupervisor

Handler = Callable[[rt.ToolInput], Awaitable[ToolAnswer]]
OnOutput = Callable[[ToolCall, ToolOutput], Awaitable[None]]
"""Takes what an extra tool returned."""

Missing = Callable[[], Awaitable[str | None]]
"""What the phase still lacks, as an order to the model; None when its criteria are met."""

MAX_REMINDERS = 3


class PhaseSupervisor(SessionSupervisor):
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
        """Serve the tools of a phase.

        Args:
            run: The parts of the run.
            missing: What the phase still lacks.
            handlers: What answers each `ralph_*` tool, by the tool's name.
            asking: Puts the model's questions to the person; None where nobody is asked.
            ends_turn: The `ralph_*` tools that end the turn when nothing is missing.
            on_output: Takes what an MCP tool returned.
        """
        super().__init__(run)
        self._missing = missing
        self._handlers = {
            "ralph_append_learning": self._learn,
            "ralph_get_plan_summary": self._summarize_plan,
            **handlers,
        }
        self._asking = asking
        self._ends_turn = {f"mcp__ralph__{name}" for name in ends_turn}
        self._on_output = on_output
        self._reminders = 0

    @property
    def unanswered(self) -> bool:
        """Whether a question was left open because nobody is there to answer it."""
        return self._asking is not None and bool(self._asking.unanswered)

    @property
    def waiting_for_person(self) -> bool:
        """Whether a question is open too."""
        return (self._asking is not None and self._asking.waiting) or super().waiting_for_person

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool of this phase."""
        given = rt.parse(name, arguments)
        if isinstance(given, ToolAnswer):
            return given
        if (handler := self._handlers.get(name)) is None:
            return rt.error(f"{type(given).__name__} has no use in this phase.")
        return await handler(given)

    async def turn_end(self, call: ToolCall, output: ToolOutput) -> str:
        """End the turn after the tool that hands in the result."""
        if self._on_output is not None and output != ToolOutput():
            await self._on_output(call, output)
        done = call.name in self._ends_turn and await self._missing() is None
        return "The phase has what it needs." if done else ""

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

    async def _learn(self, given: rt.ToolInput) -> ToolAnswer:
        assert isinstance(given, rt.Learning)
        return await record_learning(self._run, given, may_edit=False)

    async def _summarize_plan(self, _: rt.ToolInput) -> ToolAnswer:
        return rt.plan_summary(self._run.docs.plan)
