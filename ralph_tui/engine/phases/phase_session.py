"""Run one session of a phase without tasks, reported and recorded like an iteration."""

from collections.abc import Callable
from dataclasses import dataclass

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.context import RunContext, SpecFor, session_meter
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import TurnEnded
from ralph_tui.engine.limits.run_limits import RunLimits
from ralph_tui.engine.phases.phase_supervisor import Missing, PhaseSupervisor
from ralph_tui.engine.prompts.prompts import said_by_person
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    record_iteration,
)
from ralph_tui.engine.session.turns import Conversation, InterruptReason, interrupt_told
from ralph_tui.store.project import Documents


@dataclass(frozen=True)
class Stage:
    """A phase at work: the parts of the run, and which phase runs."""

    run: RunContext
    run_limits: RunLimits
    spec_for: SpecFor
    request: RunRequest
    phase: Phase

    @property
    def docs(self) -> Documents:
        """The documents as last seen."""
        return self.run.docs


def no_findings() -> int:
    """Return 0: the session's work sends nothing back."""
    return 0


async def run_session(
    stage: Stage,
    supervisor: PhaseSupervisor,
    *,
    prompt: str,
    missing: Missing,
    why: str,
    findings: Callable[[], int] = no_findings,
) -> End | None:
    """Run one session; returns an end when nothing further can help, else None (the caller reads the result).

    Args:
        stage: The phase at work.
        supervisor: What watches the session.
        prompt: The first words.
        missing: What the phase still lacks, or None.
        why: Why the session takes place, for the person.
        findings: How many things a finished phase sends back to be done.
    """
    run, run_limits, phase = stage.run, stage.run_limits, stage.phase
    docs, guidance = await begin_iteration(run)
    number = docs.state.iteration_count
    prompt += said_by_person([injection.guidance for injection in guidance or ()])
    run.emit(
        ev.IterationStarted(
            iteration=number,
            task_id=phase.value,
            title=f"{phase.value.capitalize()}",
            why=why,
            prompt_chars=len(prompt),
        )
    )
    meter = session_meter(run, run_limits.costs())
    spec = stage.spec_for(meter.costs.remaining(meter.limits))
    seconds = run.settings.phases.building.iteration_timeout_seconds
    await run.gate.begin("", stage.docs.plan.tasks)
    async with Conversation(run, supervisor, spec, meter, seconds=seconds) as talk:
        ended = await talk.say(prompt)
    lacking = await missing()
    sent_back = findings() if lacking is None else 0
    result = talk.measured(_result(ended, talk.interrupted, lacking, supervisor.ending, sent_back))
    at_limit = talk.interrupted in (InterruptReason.COST, InterruptReason.TIME)
    if at_limit and result.outcome is IterationOutcome.FAILED:
        result = result.model_copy(
            update={"reason": interrupt_told(talk.interrupted, meter, seconds)}
        )
    await talk.session.close()
    await run.gate.end(stage.docs.plan.tasks)
    run_limits.done += 1
    await record_iteration(run, number, phase.value, result, phase=phase)
    return await run_limits.after(result.failure)


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
