"""Begin and record an iteration: what it came to, and what it leaves in the documents and the journal."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import PurePath

from ralph_tui.config.settings import Settings
from ralph_tui.domain.base import Amount, Count, Model
from ralph_tui.domain.costs import Money, minus, plus
from ralph_tui.domain.documents.memory import MemoryNote, said_sections
from ralph_tui.domain.documents.progress_log import Progress
from ralph_tui.domain.events import Event, FailureClass, IterationFinished, IterationOutcome
from ralph_tui.domain.plan.attempts import TaskLimits, after_iteration
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.domain.run.breaker import NOBODYS, IterationVerdict
from ralph_tui.domain.run.failure_fingerprint import fingerprint
from ralph_tui.domain.run.oscillation import Files
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import failure_event
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.session.iteration_guidance import (
    Injections,
    emit_consumed,
    with_guidance_taken,
    with_guidance_used,
)
from ralph_tui.engine.verification.evidence.check_paths import is_test_file
from ralph_tui.store.project import Documents, Outcome

NOT_THE_TASKS_FAULT = frozenset(
    {
        FailureClass.AUTHENTICATION,
        FailureClass.BILLING,
        FailureClass.USAGE_LIMIT,
        FailureClass.OVERLOADED,
        FailureClass.NETWORK,
        FailureClass.BAD_REQUEST,
        FailureClass.CLI_DIED,
        FailureClass.CLI_SILENT,
        FailureClass.SETUP,
    }
)
"""Failures that say nothing about the task, so they cost it no attempt."""


def is_the_tasks(failure: Failure | None) -> bool:
    """Return whether an iteration with this failure says something about its task."""
    return failure is None or failure.kind not in NOT_THE_TASKS_FAULT


class IterationResult(Model):
    """What the loop records of an iteration."""

    outcome: IterationOutcome
    reason: str
    session_id: str = ""
    failure: Failure | None = None
    counts_as_retry: bool = False
    handed_off: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    context_tokens: Count = 0
    seconds: Amount = 0.0
    files: tuple[str, ...] = ()
    output_tokens: Count = 0
    denied: str = ""
    note: MemoryNote | None = None
    """What the model wrote down for later sessions."""
    dependencies: tuple[str, ...] = ()
    """Commands that add what was declared since the session began."""
    tests_only: bool = False
    refused_claim: bool = False
    failed_checks: str = ""
    """What the refused claim failed at, for the next attempt."""
    fingerprint: str = ""
    """What represents that failure, whatever its numbers and paths."""
    contents: Files = Files()
    """The project's files before the iteration and after it."""


_FAILURES = (IterationOutcome.FAILED, IterationOutcome.INCOMPLETE)
_BLOCKED = TaskStatus.BLOCKED
_NOT_COUNTED = (IterationOutcome.INTERRUPTED, IterationOutcome.SKIPPED)


def waited_out(result: IterationResult) -> bool:
    """Return whether only waiting helps; the breaker does not count that."""
    return result.failure is not None and result.failure.kind.passes


def iteration_events(number: int, task_id: str, result: IterationResult) -> tuple[Event, ...]:
    """Return the events that report how an iteration ended."""
    finished = IterationFinished(
        iteration=number,
        task_id=task_id,
        outcome=result.outcome,
        reason=result.reason,
        cost_usd=result.cost_usd,
        tokens=result.tokens,
        context_tokens=result.context_tokens,
        seconds=result.seconds,
        handoff=result.handed_off,
        files_changed=result.files,
    )
    return (finished,) if result.failure is None else (failure_event(result.failure), finished)


def with_phase_iteration(docs: Documents, phase: Phase, result: IterationResult) -> Documents:
    """Return the documents after a session of a phase without tasks."""
    complete = result.outcome in (IterationOutcome.COMPLETE, IterationOutcome.SENT_BACK)
    verdict = IterationVerdict(
        is_failure=not complete,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{phase.value}: {result.reason}",
        error="" if complete else fingerprint(result.reason),
    )
    return _counted(docs, phase.value, result, verdict)


def with_task_iteration(
    docs: Documents, task_id: str, result: IterationResult, limits: TaskLimits
) -> Documents:
    """Return the documents after an iteration on a task.

    Args:
        docs: The documents as they are.
        task_id: The task of the iteration.
        result: What the iteration came to.
        limits: When the task is given up.
    """
    complete = result.outcome is IterationOutcome.COMPLETE
    verdict = IterationVerdict(
        is_failure=result.outcome in _FAILURES,
        task=task_id if is_the_tasks(result.failure) else NOBODYS,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{task_id}: {result.reason}",
        error=_error_of(result),
        denied=result.denied,
        output_tokens=result.output_tokens,
        tests_only=result.tests_only,
        refused_claim=result.refused_claim and not complete,
        files=result.contents,
    )
    counted = _counted(docs, task_id, result, verdict)
    done = counted.state.tasks_completed_this_session + complete
    given_up = counted.breaker.given_up()
    cause = given_up.cause_of_one if given_up else ""
    plan = _plan_after(docs.plan, task_id, result, cause, limits)
    breaker = counted.breaker
    if _blocked_now(docs.plan, plan, task_id):
        breaker = breaker.without_blocked()
    return counted.with_state(tasks_completed_this_session=done).replacing(
        plan=plan, breaker=breaker
    )


def _error_of(result: IterationResult) -> str:
    """Return what represents the failure; a claim that was never made failed at nothing that can repeat."""
    if result.outcome is IterationOutcome.FAILED:
        return result.fingerprint or fingerprint(result.reason)
    return result.fingerprint if result.outcome is IterationOutcome.INCOMPLETE else ""


def _blocked_now(before: ImplementationPlan, after: ImplementationPlan, task_id: str) -> bool:
    """Return whether ralph has just given the task up; a task the agent blocked was blocked before."""
    was, task = before.task(task_id), after.task(task_id)
    return was is not None and task is not None and was.status is not task.status is _BLOCKED


def blocked_told(before: ImplementationPlan, after: ImplementationPlan, task_id: str) -> str:
    """Say that ralph has given the task up; empty when it has not."""
    task = after.task(task_id)
    if task is None or not _blocked_now(before, after, task_id):
        return ""
    following = after.get_next_task()
    then = f" Continuing with {following.id}." if following else ""
    return f"{task_id} is blocked: {task.blockers[-1].rstrip('.')}.{then}"


def task_limits(settings: Settings) -> TaskLimits:
    """Return what the settings let the loop put into one task."""
    limits = settings.limits
    return TaskLimits(
        max_attempts=limits.max_attempts_per_task, max_iterations=limits.max_iterations_per_task
    )


def _counted(
    docs: Documents, name: str, result: IterationResult, verdict: IterationVerdict
) -> Documents:
    """Count the iteration in the breaker, use up its guidance and keep the context's use."""
    breaker = docs.breaker
    if result.outcome not in _NOT_COUNTED and not waited_out(result):
        # One meter counts the project's money; the breaker shows what it says.
        before = max(breaker.total_cost, minus(docs.project_cost, verdict.cost_usd))
        breaker = breaker.model_copy(update={"total_cost": before}).record_iteration(verdict)
    heard = result.failure is None and result.outcome is not IterationOutcome.INTERRUPTED
    number, context = docs.state.iteration_count, result.context_tokens
    budget = docs.budget.recording(number, name, context=context, tokens=result.tokens)
    return with_guidance_used(docs.replacing(breaker=breaker, budget=budget), heard=heard)


def _plan_after(
    plan: ImplementationPlan,
    task_id: str,
    result: IterationResult,
    given_up: str,
    limits: TaskLimits,
) -> ImplementationPlan:
    task = plan.task(task_id)
    if task is None:
        return plan
    used: Count = (task.actual_tokens_used or 0) + result.tokens
    changes: dict[str, object] = {
        "actual_tokens_used": used,
        "actual_cost_usd": plus(task.actual_cost_usd or 0.0, result.cost_usd),
    }
    if result.failed_checks:
        changes["last_failure"] = result.failed_checks
    if task.status is TaskStatus.IN_PROGRESS:
        changes["status"] = TaskStatus.PENDING
        its_own = result.outcome not in _NOT_COUNTED and is_the_tasks(result.failure)
        failed = result.counts_as_retry or (its_own and result.outcome in _FAILURES)
        if its_own or failed:
            counted = not result.counts_as_retry
            changes |= after_iteration(task, result.reason, limits, failed=failed, counted=counted)
        if given_up and changes["status"] is not _BLOCKED:
            changes |= {"status": _BLOCKED, "blockers": (*task.blockers, given_up)}
    return plan.with_task(task_id, **changes)


async def begin_iteration(
    run: RunContext,
    start: Callable[[Documents], Documents | None] = lambda docs: docs,
    why: str = "",
) -> tuple[Documents, Injections | None]:
    """Count an iteration and take the guidance that waits, in one change of the documents.

    Args:
        run: The parts of the run.
        start: What else changes as the iteration begins; None calls it off, and nothing changes.
        why: Why tasks change with it, for the person.

    Returns:
        The documents, and the guidance that was taken; None instead when the iteration was called off.
    """

    def change(docs: Documents) -> Outcome[Injections | None]:
        started = start(docs)
        if started is None:
            return Outcome(docs, None)
        return Outcome(with_iteration_begun(started), docs.pending)

    docs, waiting = await run.project_state.transact_returning(change, why)
    emit_consumed(run, waiting or (), docs.state.iteration_count)
    return docs, waiting


def with_iteration_begun(docs: Documents) -> Documents:
    """Return the documents with one more iteration, an empty context and the guidance taken."""
    counted = docs.with_state(iteration_count=docs.state.iteration_count + 1)
    return with_guidance_taken(counted.replacing(budget=docs.budget.using(0)))


async def record_iteration(
    run: RunContext,
    number: int,
    task_id: str,
    result: IterationResult,
    *,
    phase: Phase,
    title: str = "",
) -> Documents:
    """Write down how an iteration ended, in the documents, the memory and the archive, and report it.

    Args:
        run: The parts of the run.
        number: The iteration's number.
        task_id: The task of the iteration, or the name of a phase without tasks.
        result: What the iteration came to.
        phase: The phase at work.
        title: The task's title; empty in a phase without tasks.

    Returns:
        The documents as they are now.
    """

    def change(docs: Documents) -> Documents:
        if phase is Phase.BUILDING:
            return with_task_iteration(docs, task_id, result, task_limits(run.settings))
        return with_phase_iteration(docs, phase, result)

    why = f"iteration {number}: {result.reason}" if phase is Phase.BUILDING else ""
    docs = await run.project_state.transact(change, why)
    project = run.project

    def write() -> None:
        text = iteration_memory(number, task_id, title, result, phase, run.clock())
        project.write_iteration_memory(number, text)
        if phase is Phase.BUILDING:
            progress = iteration_progress(number, task_id, title, result, run.clock())
            project.append_progress(progress, docs.plan)
        project.archive_session(session_record(number, task_id, result, phase))

    await asyncio.to_thread(write)
    for event in iteration_events(number, task_id, result):
        run.emit(event)
    return docs


def iteration_memory(
    number: int, task_id: str, title: str, result: IterationResult, phase: Phase, now: datetime
) -> str:
    """Return what is written down of an iteration (seeds, "What Gets Captured"), with the model's own notes.

    Args:
        number: The iteration's number.
        task_id: The task of the iteration.
        title: The task's title.
        result: What the iteration came to.
        phase: The phase at work; only building has a task.
        now: When the iteration ended, in UTC.
    """
    progress = "yes" if result.outcome.value == "complete" else "no"
    files = ", ".join(result.files) or "none"
    about = f"{task_id}: {one_line(title, 120)}" if phase is Phase.BUILDING else "none"
    facts = (
        f"# Iteration {number}\n\n"
        f"- Phase: {phase.value}\n"
        f"- Task: {about}\n"
        f"- Outcome: {result.outcome.value} ({one_line(result.reason, 200)})\n"
        f"- Progress: {progress}\n"
        f"- Files: {files}\n"
        f"- Tokens: {result.tokens:,}\n"
        f"- Cost: ${result.cost_usd:.4f}\n"
        f"- Ended: {now:%Y-%m-%d %H:%M:%S} UTC\n"
    )
    return facts + said_sections(result.note, result.dependencies)


def iteration_progress(
    number: int, task_id: str, title: str, result: IterationResult, now: datetime
) -> Progress:
    """Return what the progress log says of an iteration.

    Args:
        number: The iteration's number.
        task_id: The task of the iteration.
        title: The task's title.
        result: What the iteration came to.
        now: When the iteration ended, in UTC.
    """
    complete = result.outcome is IterationOutcome.COMPLETE
    return Progress(
        iteration=number,
        at=now,
        story=f"{task_id} - {title}",
        status="complete" if complete else f"{result.outcome.value}: {result.reason}",
        files=result.files,
        tests=tuple(file for file in result.files if is_test_file(PurePath(file).name)),
    )


def session_record(
    number: int, task_id: str, result: IterationResult, phase: Phase = Phase.BUILDING
) -> SessionRecord:
    """Return the archive's line for the session of an iteration; only building completes tasks.

    Args:
        number: The iteration's number.
        task_id: The task of the iteration, or the name of a phase.
        result: What the iteration came to.
        phase: The phase at work.
    """
    building = phase is Phase.BUILDING
    done = "task_complete" if building else "phase_complete"
    full = result.reason.startswith("context ")
    reasons = {"complete": done, "handed_off": "context_budget" if full else "allowance"}
    outcome = result.outcome.value
    return SessionRecord(
        session_id=result.session_id or f"iteration-{number}",
        iteration=number,
        tokens_used=result.tokens,
        cost_usd=result.cost_usd,
        tasks_completed=int(building and outcome == "complete"),
        phase=phase,
        handoff_reason=reasons.get(outcome, outcome),
        duration_ms=round(result.seconds * 1000),
        task_id=task_id,
    )
