"""Run one session of a phase without tasks, and report and record it like an iteration."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Question
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall
from ralph_tui.engine.context import RunContext, session_meter
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import QuestionReply, TurnEnded
from ralph_tui.engine.decisions.ask_person import QuestionChannel
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import guidance_section
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    record_iteration,
)
from ralph_tui.engine.session.learnings import record_learning
from ralph_tui.engine.session.supervisor import SessionSupervisor
from ralph_tui.engine.session.turns import Conversation, InterruptReason, describe_interrupt

Handler = Callable[[rt.ToolInput], Awaitable[ToolAnswer]]
OnOutput = Callable[[ToolCall, ToolOutput], Awaitable[None]]

Missing = Callable[[], Awaitable[str | None]]
"""Returns what the phase still lacks, as an instruction to the model; None if its criteria are met."""

MAX_REMINDERS = 3


@dataclass(frozen=True)
class PhaseWork:
    """What one session of a phase without tasks works on.

    Attributes:
        why: The reason for the session, for the person.
        missing: Returns what the phase still lacks.
        handlers: Answer the phase's own `ralph_*` tools; one that submits the result ends the turn.
        asking: Asks the person the model's questions; None if no one is asked.
        findings: Counts the findings that a finished phase sends back to building.
    """

    prompt: str
    why: str
    missing: Missing
    handlers: Mapping[str, Handler]
    asking: QuestionChannel | None = None
    on_output: OnOutput | None = None
    findings: Callable[[], int] = lambda: 0


class PhaseSupervisor(SessionSupervisor):
    """Supervises the agent in a phase without tasks."""

    def __init__(self, run: RunContext, work: PhaseWork) -> None:
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
            return rt.error(f"{type(given).__name__} is not used in this phase.")
        return await handler(given)

    async def turn_end_reason(self, call: ToolCall, output: ToolOutput) -> str:
        """End the turn after the tool that submits the result, if nothing is missing."""
        if self._work.on_output is not None and output != ToolOutput():
            await self._work.on_output(call, output)
        submits = call.name.startswith("mcp__ralph__ralph_submit_")
        return "The phase is complete." if submits and await self._work.missing() is None else ""

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        if self._work.asking is None:
            return QuestionReply(
                refused="Questions are not possible in this phase. Decide yourself."
            )
        return await self._work.asking.ask(questions)

    async def on_stop(self, last_message: str) -> str | None:
        """Remind the model of what the phase still lacks, up to `MAX_REMINDERS` times."""
        del last_message
        if self._reminders >= MAX_REMINDERS or self.ending:
            return None
        self._reminders += 1
        return await self._work.missing()

    async def _learn(self, given: rt.ToolInput) -> ToolAnswer:
        assert isinstance(given, rt.Learning)
        return await record_learning(self._run, given, may_edit=False)

    async def _summarize_plan(self, _: rt.ToolInput) -> ToolAnswer:
        return rt.plan_summary(self._run.docs.plan)


async def run_session(run: RunContext, work: PhaseWork) -> End | None:
    """Run one session; return an end if the run must stop."""
    supervisor, phase = PhaseSupervisor(run, work), run.phase
    docs, guidance = await begin_iteration(run)
    number = docs.state.iteration_count
    told = guidance_section([injection.guidance for injection in guidance or ()])
    prompt = work.prompt + told
    run.emit(
        ev.IterationStarted(
            iteration=number,
            task_id=phase.value,
            title=f"{phase.value.capitalize()}",
            why=work.why,
            prompt_chars=len(prompt),
        )
    )
    meter = session_meter(run)
    spec = run.spec_for(meter.costs.remaining(meter.limits))
    seconds = run.settings.phases.building.iteration_timeout_seconds
    await run.gate.begin("", run.docs.plan.tasks)
    async with Conversation(run, supervisor, spec, meter, seconds=seconds) as conversation:
        ended = await conversation.run_turn(prompt)
    lacking = await work.missing()
    sent_back = work.findings() if lacking is None else 0
    result = conversation.with_usage(
        _result(ended, conversation.interrupted, lacking, supervisor.ending, sent_back)
    )
    at_limit = conversation.interrupted in (InterruptReason.COST, InterruptReason.TIME)
    if at_limit and result.outcome is IterationOutcome.FAILED:
        result = result.model_copy(
            update={"reason": describe_interrupt(conversation.interrupted, meter, seconds)}
        )
    await conversation.session.close()
    await run.gate.end()
    run.limits.done += 1
    await record_iteration(run, number, phase.value, result, phase=phase)
    return await run.limits.after(result.failure)


def _result(
    ended: TurnEnded, interrupted: InterruptReason, lacking: str | None, ending: str, sent_back: int
) -> IterationResult:
    if interrupted in (InterruptReason.STOP, InterruptReason.PAUSE, InterruptReason.UNANSWERED):
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=interrupted.value)
    if sent_back:
        reason = plural(sent_back, "finding")
        return IterationResult(outcome=IterationOutcome.SENT_BACK, reason=reason)
    if lacking is None:
        return IterationResult(outcome=IterationOutcome.COMPLETE, reason="the criteria are met")
    if interrupted is not InterruptReason.NONE:
        return IterationResult(outcome=IterationOutcome.FAILED, reason=interrupted.value)
    if ended.failure is not None:
        reason, failure = ended.failure.message, ended.failure
        return IterationResult(outcome=IterationOutcome.FAILED, reason=reason, failure=failure)
    if ending:
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=ending)
    return IterationResult(outcome=IterationOutcome.INCOMPLETE, reason=lacking)
