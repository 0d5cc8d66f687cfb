"""One session of a phase without tasks, told and recorded like an iteration."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.context import RunContext, SpecFor, session_meter
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import TurnEnded
from ralph_tui.engine.limits.run_limits import RunLimits
from ralph_tui.engine.phases.phase_supervisor import Missing, PhaseSupervisor
from ralph_tui.engine.prompts.prompts import said_by_person
from ralph_tui.engine.session.guidance import Injections, taken, tell_consumed
from ralph_tui.engine.session.handoff import iteration_memory, session_record
from ralph_tui.engine.session.iteration_result import IterationResult, phase_recorded, told
from ralph_tui.engine.session.turns import Conversation, InterruptReason, interrupt_told
from ralph_tui.store.project import Documents, Outcome


@dataclass(frozen=True)
class Stage:
    """A phase at work: the parts of the run, and which phase it is."""

    run: RunContext
    run_limits: RunLimits
    spec_for: SpecFor
    request: RunRequest
    phase: Phase

    @property
    def docs(self) -> Documents:
        """The documents as last seen."""
        return self.run.project_state.docs


def no_findings() -> int:
    """A session whose work sends nothing back."""
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
    """Talk once; an end when nothing further can help, else None (the caller looks at the result).

    Args:
        stage: The phase at work.
        supervisor: What watches the session.
        prompt: The first words.
        missing: What the phase still lacks, or None.
        why: Why the session takes place, for the person.
        findings: How many things a finished phase sends back to be done.
    """
    run, run_limits, phase = stage.run, stage.run_limits, stage.phase
    number, guidance = await _begin(run)
    prompt += said_by_person([injection.guidance for injection in guidance])
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
    started = time.monotonic()
    seconds = run.settings.phases.building.iteration_timeout_seconds
    await run.gate.begin("", stage.docs.plan.tasks)
    async with Conversation(run, supervisor, spec, meter, seconds=seconds) as talk:
        ended = await talk.say(prompt)
    lacking = await missing()
    sent_back = findings() if lacking is None else 0
    result = _result(ended, talk.cut, lacking, supervisor.ending, sent_back)
    if (
        talk.cut in (InterruptReason.COST, InterruptReason.TIME)
        and result.outcome is IterationOutcome.FAILED
    ):
        result = result.model_copy(update={"reason": interrupt_told(talk.cut, meter, seconds)})
    result = result.model_copy(
        update={
            "session_id": talk.session_id,
            "cost_usd": meter.costs.iteration,
            "tokens": meter.tokens,
            "context_tokens": meter.budget.current_usage,
            "seconds": time.monotonic() - started,
        }
    )
    await talk.session.close()
    await run.gate.end(stage.docs.plan.tasks)
    run_limits.done += 1
    await _record(run, phase, number, result)
    return await run_limits.after(result.failure)


async def _begin(run: RunContext) -> tuple[int, Injections]:
    """Count the iteration and take the guidance that waits."""

    def change(docs: Documents) -> Outcome[Injections]:
        counted = docs.with_state(iteration_count=docs.state.iteration_count + 1)
        begun = counted.replacing(budget=docs.budget.using(0))
        return Outcome(taken(begun), docs.pending)

    docs, waiting = await run.project_state.transact_returning(change)
    number = docs.state.iteration_count
    tell_consumed(run, waiting, number)
    return number, waiting


def _result(
    ended: TurnEnded, cut: InterruptReason, lacking: str | None, ending: str, sent_back: int
) -> IterationResult:
    if cut in (InterruptReason.STOP, InterruptReason.PAUSE, InterruptReason.UNANSWERED):
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=cut.value)
    if sent_back:
        reason = f"{sent_back} finding{'' if sent_back == 1 else 's'}"
        return IterationResult(outcome=IterationOutcome.SENT_BACK, reason=reason)
    if lacking is None:
        return IterationResult(outcome=IterationOutcome.COMPLETE, reason="the criteria are met")
    if cut is not InterruptReason.NONE:
        return IterationResult(outcome=IterationOutcome.FAILED, reason=cut.value)
    if ended.failure is not None:
        reason, failure = ended.failure.message, ended.failure
        return IterationResult(outcome=IterationOutcome.FAILED, reason=reason, failure=failure)
    if ending:
        return IterationResult(outcome=IterationOutcome.INTERRUPTED, reason=ending)
    return IterationResult(outcome=IterationOutcome.INCOMPLETE, reason=lacking)


async def _record(run: RunContext, phase: Phase, number: int, result: IterationResult) -> None:
    await run.project_state.transact(lambda docs: phase_recorded(docs, phase, result))
    project = run.project_state.project

    def write() -> None:
        text = iteration_memory(number, "", "", result, phase, run.clock())
        project.write_iteration_memory(number, text)
        project.archive_session(session_record(number, phase.value, result, phase))

    await asyncio.to_thread(write)
    for event in told(number, phase.value, result):
        run.emit(event)
