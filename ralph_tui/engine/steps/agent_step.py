"""The type of step that is a session of its own: its own instructions, no task, on the meter and in the limits."""

import asyncio
from collections.abc import Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.questions import Question
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.context import RunContext, session_meter
from ralph_tui.engine.control.step_records import step_text
from ralph_tui.engine.core.ports import QuestionReply, TurnEnded
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import section
from ralph_tui.engine.safety.agents_md_guard import AgentsMdGuard
from ralph_tui.engine.session.iteration_result import IterationResult, session_record
from ralph_tui.engine.session.learnings import record_learning
from ralph_tui.engine.session.spec import step_spec
from ralph_tui.engine.session.supervisor import SessionSupervisor
from ralph_tui.engine.session.turns import Conversation, InterruptReason, interrupt_told
from ralph_tui.engine.steps.step_type import StepJob, StepResult, failed

FAILED_MARK = "STEP FAILED:"
"""How the model's last message begins when it could not do the step."""

_PERSONS = (InterruptReason.STOP, InterruptReason.PAUSE)


class StepSupervisor(SessionSupervisor):
    """Answers the agent in a step: it has no task, and nobody to ask."""

    def __init__(self, run: RunContext) -> None:
        """Supervise a step's session."""
        super().__init__(run)
        self._agents_file = AgentsMdGuard(run.project.layout.agents_md)

    def own_rules(self, call: ToolCall) -> Verdict | None:
        """Also deny edits that make AGENTS.md too long."""
        return super().own_rules(call) or self._agents_file.review(call)

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Record a learning; a step has no other tool of ralph's."""
        given = rt.parse(name, arguments)
        if isinstance(given, ToolAnswer):
            return given
        if not isinstance(given, rt.Learning):
            return rt.error("A step has no task: this tool has no use here.")
        return await record_learning(self._run, given, may_edit=False)

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Refuse: nobody is asked in a step."""
        del questions
        return QuestionReply(refused="Nobody is asked in a step. Decide yourself.")

    async def on_stop(self, last_message: str) -> str | None:
        """Let the model stop whenever it wants to."""
        del last_message
        return None


class AgentStep:
    """Runs a session with instructions from a file."""

    async def run(self, job: StepJob) -> StepResult:
        """See `StepType.run`; stops, pauses and the time limit are obeyed inside the session."""
        prompt = await asyncio.to_thread(step_text, job.run.project, job.settings)
        if not prompt.strip():
            return failed(f"{job.settings.prompt} is empty, or not a file of the project")
        end = await job.run_limits.reason_not_to_spend()
        if end is not None:
            return failed(end.reason).model_copy(update={"end": end})
        run, tasks = job.run, job.run.docs.plan.tasks
        meter = session_meter(run, job.run_limits.costs())
        spec = job.spec_for(meter.costs.remaining(meter.limits))
        fitted = await asyncio.to_thread(
            step_spec, spec, run.project, run.settings, job.settings.model
        )
        seconds = job.settings.timeout_seconds
        await run.gate.begin("", tasks)
        async with Conversation(run, StepSupervisor(run), fitted, meter, seconds=seconds) as talk:
            ended = await talk.say(prompt + about(job))
        await talk.session.close()
        await run.gate.end(run.docs.plan.tasks)
        result = _result(ended, talk.interrupted, meter, seconds)
        used = talk.measured(
            IterationResult(outcome=_OUTCOMES[result.outcome], reason=result.reason)
        )
        await asyncio.to_thread(_archive, job, used)
        if talk.interrupted is InterruptReason.COST:
            result = result.model_copy(update={"end": await job.run_limits.reason_not_to_spend()})
        return result.model_copy(update={"cost_usd": used.cost_usd, "tokens": used.tokens})


def about(job: StepJob) -> str:
    """Return where in the loop the step is, for the end of its instructions."""
    if job.task is None:
        return section("Where you are", f"The step {job.name}, at the end of a run.")
    words = f"The step {job.name}, in iteration {job.iteration} on task {job.task.id}."
    return section("Where you are", f"{words}\nThe task, as material: {job.task.title}")


def _result(
    ended: TurnEnded, interrupted: InterruptReason, meter: UsageMeter, seconds: float
) -> StepResult:
    if interrupted in _PERSONS:
        return StepResult(outcome=StepOutcome.INTERRUPTED, reason=interrupted.value)
    if interrupted is InterruptReason.TIME:
        return failed(f"no end after {duration(seconds)}")
    if interrupted is not InterruptReason.NONE:
        return failed(interrupt_told(interrupted, meter, seconds))
    if ended.failure is not None:
        return failed(ended.failure.message).model_copy(update={"failure": ended.failure})
    said = ended.text.strip()
    if said.startswith(FAILED_MARK):
        return failed(one_line(said.removeprefix(FAILED_MARK), 300) or "the model gave up")
    return StepResult(outcome=StepOutcome.DONE, reason=one_line(said, 160))


_OUTCOMES = {
    StepOutcome.DONE: IterationOutcome.COMPLETE,
    StepOutcome.FAILED: IterationOutcome.FAILED,
    StepOutcome.SKIPPED: IterationOutcome.SKIPPED,
    StepOutcome.INTERRUPTED: IterationOutcome.INTERRUPTED,
}


def _archive(job: StepJob, used: IterationResult) -> None:
    """Add the session to the history, as one that completes no task."""
    record = session_record(job.iteration, f"step {job.name}", used)
    job.run.project.archive_session(
        record.model_copy(update={"tasks_completed": 0, "handoff_reason": used.outcome.value})
    )
