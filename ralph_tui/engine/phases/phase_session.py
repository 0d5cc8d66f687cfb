"""Run one session of a phase without tasks, and report and record it like an iteration."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.engine.context import RunContext, new_session
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import TurnEnded
from ralph_tui.engine.prompts.prompts import guidance_section
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    record_iteration,
)
from ralph_tui.engine.session.supervisor import SessionWork, WorkSupervisor
from ralph_tui.engine.session.turns import Conversation, InterruptReason, describe_interrupt


async def run_session(run: RunContext, work: SessionWork) -> End | None:
    """Run one session; return an end if the run must stop."""
    supervisor, phase = WorkSupervisor(run, work), run.phase
    docs, guidance = await begin_iteration(run)
    number = docs.state.iteration_count
    told = guidance_section([injection.guidance for injection in guidance or ()])
    prompt = work.prompt + told
    meter, spec = new_session(run)
    title = phase.value.capitalize()
    started = ev.IterationStarted(iteration=number, task_id=phase.value, title=title, why=work.why)
    await run.announce(started, spec.system_prompt, prompt)
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
