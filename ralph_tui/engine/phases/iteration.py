"""Run one iteration: one attempt at one task in a new session."""

import asyncio
import re

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.memory import SessionFacts, render_memory
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.context_budget import BudgetDecision
from ralph_tui.engine.context import RunContext, UsageMeter, cost_limit_reached
from ralph_tui.engine.core.ports import AgentSession, Failure, SessionSpec, TurnEnded
from ralph_tui.engine.prompts.prompts import REJECTED, handoff_prompt
from ralph_tui.engine.session.iteration_result import IterationResult, counts_against_task
from ralph_tui.engine.session.task_supervisor import TaskSupervisor
from ralph_tui.engine.session.turns import Conversation, InterruptReason, describe_interrupt

AT_ONCE = frozenset({InterruptReason.STOP, InterruptReason.PAUSE, InterruptReason.TASK_WITHDRAWN})
"""Interrupts that do not wait until a current claim is judged."""


class Iteration:
    """Runs one attempt at a task that is in progress."""

    def __init__(
        self, run: RunContext, task: Task, *, number: int, spec: SessionSpec, meter: UsageMeter
    ) -> None:
        self._run = run
        self._number = number
        self._base_spec = spec
        self._spec = with_task_model(spec, task)
        self._meter = meter
        self._supervisor = TaskSupervisor(task, run, meter=meter)
        self._handed_off = ""
        self._context_full = False
        self._seconds = run.settings.phases.building.iteration_timeout_seconds

    @property
    def task_id(self) -> str:
        return self._supervisor.task.task_id

    async def run(self, prompt: str) -> tuple[IterationResult, AgentSession]:
        """Work on the task and return the result; the caller closes the session."""
        conversation = Conversation(
            self._run, self._supervisor, self._spec, self._meter, seconds=self._seconds
        )
        async with conversation:
            self._prepare_next()
            ended = await conversation.run_turn(prompt)
            # A claim made just when a limit is reached is still judged.
            await self._supervisor.finish_judging(at_once=conversation.interrupted in AT_ONCE)
            if why := self._why_hand_off(ended, conversation.interrupted):
                self._context_full = why != self._supervisor.ending
                await self._hand_off(conversation, why)
        result = conversation.with_usage(self._result(ended, conversation.interrupted))
        result = result.model_copy(
            update={
                "failed_checks": result.failed_checks or self._supervisor.failed_checks,
                "note": self._supervisor.note,
                "handed_off": bool(self._handed_off),
                "context_full": self._context_full,
                "files": tuple(self._supervisor.files),
                "denied": self._supervisor.denied,
                "tests_only": self._supervisor.tests_only,
                "refused_claim": self._supervisor.claim_refused,
                "fingerprint": self._supervisor.fingerprint,
            }
        )
        return result, conversation.session

    def _prepare_next(self) -> None:
        """Connect the next session while this one works, so that the next iteration need not wait."""
        plan, task_id = self._run.docs.plan, self._supervisor.task.task_id
        if not self._supervisor.handing_off:
            plan = plan.with_task(task_id, status=TaskStatus.COMPLETE)
        following = (
            self._supervisor.task.task if self._supervisor.handing_off else plan.get_next_task()
        )
        if following is not None and self._run.settings.agent.standby_session:
            self._run.agent.prepare(with_task_model(self._base_spec, following))

    def _why_hand_off(self, ended: TurnEnded, interrupted: InterruptReason) -> str:
        budget = self._meter.budget
        full = f"context {budget.percent:.0f} % full"
        if not self._supervisor.working:
            return ""
        if interrupted is InterruptReason.CONTEXT:
            return full
        if ended.failure is not None:
            filled = ended.failure.kind is FailureClass.CONTEXT_FULL and self._meter.tokens > 0
            return "the context window was full" if filled else ""
        if interrupted is not InterruptReason.NONE:
            return ""
        return full if budget.at_turn_end() is BudgetDecision.HAND_OFF else self._supervisor.ending

    async def _hand_off(self, conversation: Conversation, why: str) -> None:
        percent = self._meter.budget.percent
        self._run.emit(ev.HandoffStarted(reason=why, percent=percent))
        self._supervisor.handing_off = True
        self._prepare_next()
        ended = await conversation.run_turn(handoff_prompt(why))
        self._handed_off = why
        path = await write_handoff(self._run, self._supervisor, self._number, self._meter)
        summarised = self._supervisor.note is not None and ended.failure is None
        self._run.emit(ev.HandoffFinished(path=path, summarised=summarised))

    def _result(self, ended: TurnEnded, interrupted: InterruptReason) -> IterationResult:
        task = self._supervisor.task
        if task.settled is TaskStatus.COMPLETE:
            return _result(IterationOutcome.COMPLETE, self._supervisor.completion_evidence)
        if task.settled is TaskStatus.BLOCKED:
            reason = task.blockers[-1] if task.blockers else "blocked"
            return _result(IterationOutcome.BLOCKED, reason)
        if self._handed_off:
            return _result(IterationOutcome.HANDED_OFF, self._handed_off)
        undisturbed = interrupted is InterruptReason.NONE and ended.failure is None
        if interrupted is InterruptReason.TASK_WITHDRAWN or (undisturbed and task.withdrawn_reason):
            return _result(IterationOutcome.SKIPPED, task.withdrawn_reason or interrupted.value)
        if interrupted is not InterruptReason.NONE:
            reason = describe_interrupt(interrupted, self._meter, self._seconds)
            if interrupted in (InterruptReason.STOP, InterruptReason.PAUSE):
                return _result(IterationOutcome.INTERRUPTED, reason)
            # A cost limit of the run or the project is not the task's fault.
            spent = cost_limit_reached(self._meter.costs, self._meter.limits)
            ends_run = interrupted is InterruptReason.COST and spent is not None and spent.ends_run
            return _result(IterationOutcome.FAILED, reason, retry=not ends_run)
        if ended.failure is not None:
            return self._failed_result(ended.failure)
        return self._unclaimed_result()

    def _failed_result(self, failure: Failure) -> IterationResult:
        counts, why = counts_against_task(failure), ""
        if failure.kind is FailureClass.SPOILED_SESSION:
            why = rejection_note(failure.message)
            # A task whose sessions the API rejects in a row is blocked in the end.
            task = self._supervisor.task.task
            counts = task is not None and task.last_failure.startswith(REJECTED)
        return IterationResult(
            outcome=IterationOutcome.FAILED,
            reason=failure.message,
            failure=failure,
            counts_as_retry=counts,
            failed_checks=why,
        )

    def _unclaimed_result(self) -> IterationResult:
        tools = self._supervisor
        gate, review = tools.gate_result, tools.last_review
        reason, counts = "the model stopped without claiming the task", not tools.retry_counted
        if gate is not None and tools.claim_refused:
            reason = f"the claim was rejected: {gate.refusal}"
        elif review is not None:
            reason = review.result_text
            counts = counts and review.rejected  # the worker did its part
        return _result(IterationOutcome.INCOMPLETE, reason, retry=counts)


async def write_handoff(
    run: RunContext, supervisor: TaskSupervisor, iteration: int, meter: UsageMeter
) -> str:
    """Write MEMORY.md and the session memory; return the name of MEMORY.md.

    The model submits its summary with a tool. An output format would apply to the whole session and, by
    invalidating the cache, made each turn some 25 times as expensive.
    """
    docs = run.docs
    task, result = supervisor.task.task, supervisor.gate_result
    facts = SessionFacts(
        iteration=iteration,
        phase=docs.state.current_phase,
        task_id=supervisor.task.task_id if task and task.status is not TaskStatus.COMPLETE else "",
        task_description=task.description if task else "",
        files=tuple(supervisor.files),
        receipts=tuple(
            f"{r.status.value}: {r.command}" for r in (result.receipts if result else ())
        ),
        session_cost_usd=meter.costs.iteration,
        session_tokens=meter.tokens,
        progress=docs.plan.completion_percentage,
    )
    text = render_memory(facts, supervisor.note)
    project = run.project

    def write() -> str:
        path = project.write_memory(text)
        project.write_session_memory(iteration, text)
        return path.name

    return await asyncio.to_thread(write)


def rejection_note(message: str) -> str:
    """Return what the next session must know about a session that was thrown away."""
    advice = "Its work is in the files. Read them before you continue."
    if re.search(r"image|media|pdf|document|too (?:long|large)", message, re.IGNORECASE):
        advice += " Do not read the image or large file again that the API rejected."
    return f"{REJECTED}{message} {advice}"


def with_task_model(spec: SessionSpec, task: Task) -> SessionSpec:
    return spec.model_copy(update={"model": task.model}) if task.model else spec


def _result(outcome: IterationOutcome, reason: str, *, retry: bool = False) -> IterationResult:
    return IterationResult(outcome=outcome, reason=reason, counts_as_retry=retry)
