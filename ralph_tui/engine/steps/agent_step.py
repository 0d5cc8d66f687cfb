"""Run a step as a separate agent session with its own instructions; costs and limits of the run apply."""

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
from ralph_tui.engine.session.turns import Conversation, InterruptReason, describe_interrupt
from ralph_tui.engine.steps.step_type import StepJob, StepResult, failed

FAILED_MARK = "STEP FAILED:"
"""The model's last message begins with this mark if it could not do the step."""

_BY_PERSON = (InterruptReason.STOP, InterruptReason.PAUSE)


class StepSupervisor(SessionSupervisor):
    """Supervises the agent in a step, which has no task and asks no one."""

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._agents_file = AgentsMdGuard(run.project.layout.agents_md)

    def session_verdict(self, call: ToolCall) -> Verdict | None:
        return super().session_verdict(call) or self._agents_file.review(call)

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Record a learning; a step has no other `ralph_*` tool."""
        given = rt.parse(name, arguments)
        if isinstance(given, ToolAnswer):
            return given
        if not isinstance(given, rt.Learning):
            return rt.error("This tool is not available, because a step has no task.")
        return await record_learning(self._run, given, may_edit=False)

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Refuse the questions, because a step asks no one."""
        del questions
        return QuestionReply(refused="Questions are not possible in a step. Decide yourself.")

    async def on_stop(self, last_message: str) -> str | None:
        del last_message
        return None


class AgentStep:
    """Runs a session with instructions from a file."""

    async def run(self, job: StepJob) -> StepResult:
        """See `StepType.run`; the session itself handles stops, pauses and the time limit."""
        prompt = await asyncio.to_thread(step_text, job.run.project, job.settings)
        if not prompt.strip():
            return failed(f"{job.settings.prompt} is empty or is not a file in the project")
        end = await job.run_limits.reason_to_refuse_session()
        if end is not None:
            return failed(end.reason).model_copy(update={"end": end})
        run, tasks = job.run, job.run.docs.plan.tasks
        meter = session_meter(run, job.run_limits.costs())
        spec = job.spec_for(meter.costs.remaining(meter.limits))
        step_session_spec = await asyncio.to_thread(
            step_spec, spec, run.project, run.settings, job.settings.model
        )
        seconds = job.settings.timeout_seconds
        await run.gate.begin("", tasks)
        async with Conversation(
            run, StepSupervisor(run), step_session_spec, meter, seconds=seconds
        ) as conversation:
            ended = await conversation.run_turn(prompt + position(job))
        await conversation.session.close()
        await run.gate.end()
        result = _result(ended, conversation.interrupted, meter, seconds)
        used = conversation.with_usage(
            IterationResult(outcome=_OUTCOMES[result.outcome], reason=result.reason)
        )
        await asyncio.to_thread(_archive, job, used)
        if conversation.interrupted is InterruptReason.COST:
            result = result.model_copy(
                update={"end": await job.run_limits.reason_to_refuse_session()}
            )
        return result.model_copy(update={"cost_usd": used.cost_usd, "tokens": used.tokens})


def position(job: StepJob) -> str:
    """Return where in the run the step is, to append to its instructions."""
    if job.task is None:
        return section("Where you are", f"The step {job.name}, at the end of a run.")
    words = f"The step {job.name}, in iteration {job.iteration} on task {job.task.id}."
    return section("Where you are", f"{words}\nThe task, as material: {job.task.title}")


def _result(
    ended: TurnEnded, interrupted: InterruptReason, meter: UsageMeter, seconds: float
) -> StepResult:
    if interrupted in _BY_PERSON:
        return StepResult(outcome=StepOutcome.INTERRUPTED, reason=interrupted.value)
    if interrupted is InterruptReason.TIME:
        return failed(f"timed out after {duration(seconds)}")
    if interrupted is not InterruptReason.NONE:
        return failed(describe_interrupt(interrupted, meter, seconds))
    if ended.failure is not None:
        return failed(ended.failure.message).model_copy(update={"failure": ended.failure})
    message = ended.text.strip()
    if message.startswith(FAILED_MARK):
        return failed(one_line(message.removeprefix(FAILED_MARK), 300) or "the model gave up")
    return StepResult(outcome=StepOutcome.DONE, reason=one_line(message, 160))


_OUTCOMES = {
    StepOutcome.DONE: IterationOutcome.COMPLETE,
    StepOutcome.FAILED: IterationOutcome.FAILED,
    StepOutcome.SKIPPED: IterationOutcome.SKIPPED,
    StepOutcome.INTERRUPTED: IterationOutcome.INTERRUPTED,
}


def _archive(job: StepJob, used: IterationResult) -> None:
    record = session_record(job.iteration, f"step {job.name}", used)
    job.run.project.archive_session(
        record.model_copy(update={"tasks_completed": 0, "handoff_reason": used.outcome.value})
    )
