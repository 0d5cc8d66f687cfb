"""Begin an iteration, and record its result in the documents, the memory and the journal."""

import asyncio
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import PurePath

from ralph_tui.domain.base import Amount, Count, Model
from ralph_tui.domain.costs import Money, minus, plus
from ralph_tui.domain.documents.memory import MemoryNote, note_sections
from ralph_tui.domain.documents.progress_log import Progress
from ralph_tui.domain.events import Event, InjectionConsumed, IterationFinished
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskLimits, TaskStatus, after_iteration
from ralph_tui.domain.project_state import Injection, Phase, SessionRecord
from ralph_tui.domain.run.breaker import NO_TASK, Files, IterationVerdict, fingerprint
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import FATAL, failure_event
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.verification.evidence.classify import is_test_file
from ralph_tui.store.project import Documents, Outcome

Injections = tuple[Injection, ...]


def with_guidance_taken(docs: Documents, ids: Collection[str] | None = None) -> Documents:
    """Return the documents with all pending guidance, or that with these `ids`, marked as given.

    Given guidance is kept until the iteration ends, in case it must be queued again.
    """
    taken = tuple(i for i in docs.pending if ids is None or i.id in ids)
    left = tuple(i for i in docs.pending if i not in taken)
    return docs.with_state(given=(*docs.state.given, *taken)).replacing(pending=left)


def with_guidance_used(docs: Documents, *, heard: bool) -> Documents:
    """Return the documents after the iteration; guidance that was not `heard` waits for the next one."""
    if not docs.state.given:
        return docs
    pending = docs.pending if heard else (*docs.state.given, *docs.pending)
    return docs.with_state(given=()).replacing(pending=pending)


NOT_THE_TASKS_FAULT = FATAL | {
    FailureClass.SPOILED_SESSION,
    FailureClass.CLI_DIED,
    FailureClass.CLI_SILENT,
}
"""Failures that are not caused by the task, so they do not count as an attempt."""


def counts_against_task(failure: Failure | None) -> bool:
    return failure is None or failure.kind not in NOT_THE_TASKS_FAULT


class IterationResult(Model):
    """The result of an iteration, as the loop records it."""

    outcome: IterationOutcome
    reason: str
    session_id: str = ""
    failure: Failure | None = None
    counts_as_retry: bool = False
    handed_off: bool = False
    context_full: bool = False
    """Whether the session was handed off because its context was full, and not because of the allowance."""
    cost_usd: Money = 0.0
    tokens: Count = 0
    context_tokens: Count = 0
    seconds: Amount = 0.0
    files: tuple[str, ...] = ()
    output_tokens: Count = 0
    denied: str = ""
    note: MemoryNote | None = None
    tests_only: bool = False
    refused_claim: bool = False
    failed_checks: str = ""
    """Report on the failed checks of the refused claim, for the next attempt."""
    fingerprint: str = ""
    """Identifies that failure regardless of its numbers and paths."""
    contents: Files = Files()
    """Fingerprints of the project's files before and after the iteration."""


_FAILURES = (IterationOutcome.FAILED, IterationOutcome.INCOMPLETE)
_BLOCKED = TaskStatus.BLOCKED
_NOT_COUNTED = (IterationOutcome.INTERRUPTED, IterationOutcome.SKIPPED)


def passes_with_time(result: IterationResult) -> bool:
    return result.failure is not None and result.failure.kind.passes


def iteration_events(number: int, task_id: str, result: IterationResult) -> tuple[Event, ...]:
    same = {"outcome", "reason", "cost_usd", "tokens", "context_tokens", "seconds"}
    finished = IterationFinished(
        iteration=number,
        task_id=task_id,
        handoff=result.handed_off,
        files_changed=result.files,
        **result.model_dump(include=same),
    )
    return (finished,) if result.failure is None else (failure_event(result.failure), finished)


def with_phase_iteration(docs: Documents, phase: Phase, result: IterationResult) -> Documents:
    complete = result.outcome in (IterationOutcome.COMPLETE, IterationOutcome.SENT_BACK)
    verdict = IterationVerdict(
        is_failure=not complete,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{phase.value}: {result.reason}",
        error="" if complete else fingerprint(result.reason),
    )
    return _with_iteration_counted(docs, phase.value, result, verdict)


def with_task_iteration(
    docs: Documents, task_id: str, result: IterationResult, limits: TaskLimits
) -> Documents:
    complete = result.outcome is IterationOutcome.COMPLETE
    error = result.fingerprint if result.outcome in _FAILURES else ""
    if result.outcome is IterationOutcome.FAILED:
        error = error or fingerprint(result.reason)
    verdict = IterationVerdict(
        is_failure=result.outcome in _FAILURES,
        task=task_id if counts_against_task(result.failure) else NO_TASK,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{task_id}: {result.reason}",
        error=error,
        denied=result.denied,
        output_tokens=result.output_tokens,
        tests_only=result.tests_only,
        refused_claim=result.refused_claim and not complete,
        files=result.contents,
    )
    counted = _with_iteration_counted(docs, task_id, result, verdict)
    done = counted.state.tasks_completed_this_session + complete
    task_signal = counted.breaker.task_signal()
    cause = task_signal.cause_of_one if task_signal else ""
    plan = _plan_after(docs.plan, task_id, result, cause, limits)
    blocked = _just_blocked(docs.plan, plan, task_id)
    breaker = counted.breaker.without_blocked() if blocked else counted.breaker
    return counted.with_state(tasks_completed_this_session=done).replacing(
        plan=plan, breaker=breaker
    )


def _just_blocked(before: ImplementationPlan, after: ImplementationPlan, task_id: str) -> bool:
    was, task = before.task(task_id), after.task(task_id)
    return was is not None and task is not None and was.status is not task.status is _BLOCKED


def blocked_notice(before: ImplementationPlan, after: ImplementationPlan, task_id: str) -> str:
    task = after.task(task_id)
    if task is None or not _just_blocked(before, after, task_id):
        return ""
    following = after.get_next_task()
    then = f" Continuing with {following.id}." if following else ""
    return f"{task_id} is blocked: {task.blockers[-1].rstrip('.')}.{then}"


def _with_iteration_counted(
    docs: Documents, name: str, result: IterationResult, verdict: IterationVerdict
) -> Documents:
    breaker = docs.breaker
    if result.outcome not in _NOT_COUNTED and not passes_with_time(result):
        # The project's meter is the authority on costs; the breaker's total follows it.
        before = max(breaker.total_cost, minus(docs.project_cost, verdict.cost_usd))
        breaker = breaker.model_copy(update={"total_cost": before}).record_iteration(verdict)
    heard = result.failure is None and result.outcome not in _NOT_COUNTED
    number, context = docs.state.iteration_count, result.context_tokens
    budget = docs.budget.recording(number, name, context=context, tokens=result.tokens)
    return with_guidance_used(docs.replacing(breaker=breaker, budget=budget), heard=heard)


def _plan_after(
    plan: ImplementationPlan,
    task_id: str,
    result: IterationResult,
    task_signal: str,
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
        its_own = result.outcome not in _NOT_COUNTED and counts_against_task(result.failure)
        failed = result.counts_as_retry or (its_own and result.outcome in _FAILURES)
        if its_own or failed:
            counted = not result.counts_as_retry
            changes |= after_iteration(task, result.reason, limits, failed=failed, counted=counted)
        if task_signal and changes["status"] is not _BLOCKED:
            changes |= {"status": _BLOCKED, "blockers": (*task.blockers, task_signal)}
    return plan.with_task(task_id, **changes)


async def begin_iteration(
    run: RunContext,
    start: Callable[[Documents], Documents | None] = lambda docs: docs,
    why: str = "",
) -> tuple[Documents, Injections | None]:
    """Count an iteration and take the pending guidance, in one transaction, unless `start` returns None."""

    def change(docs: Documents) -> Outcome[Injections | None]:
        started = start(docs)
        if started is None:
            return Outcome(docs, None)
        counted = started.with_state(iteration_count=started.state.iteration_count + 1)
        counted = counted.replacing(budget=counted.budget.using(0))
        return Outcome(with_guidance_taken(counted), docs.pending)

    docs, waiting = await run.project_state.transact_returning(change, why)
    if ids := tuple(injection.id for injection in waiting or ()):
        run.emit(InjectionConsumed(ids=ids, iteration=docs.state.iteration_count))
    return docs, waiting


async def record_iteration(
    run: RunContext,
    number: int,
    task_id: str,
    result: IterationResult,
    *,
    phase: Phase,
    title: str = "",
) -> Documents:
    """Record an iteration of a task or a phase in the documents, the memory and the archive, and emit its events."""
    most = run.settings.limits
    limits = TaskLimits(
        max_attempts=most.max_attempts_per_task, max_iterations=most.max_iterations_per_task
    )

    def change(docs: Documents) -> Documents:
        if phase is Phase.BUILDING:
            return with_task_iteration(docs, task_id, result, limits)
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


MOST_NAMED = 50
"""How many changed files the memory of an iteration names, because it goes into prompts."""


def iteration_memory(
    number: int, task_id: str, title: str, result: IterationResult, phase: Phase, now: datetime
) -> str:
    progress = "yes" if result.outcome.value == "complete" else "no"
    files = shortlist(result.files, MOST_NAMED) or "none"
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
    return facts + note_sections(result.note)


def iteration_progress(
    number: int, task_id: str, title: str, result: IterationResult, now: datetime
) -> Progress:
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
    building = phase is Phase.BUILDING
    done = "task_complete" if building else "phase_complete"
    why = "context_budget" if result.context_full else "allowance"
    reasons = {"complete": done, "handed_off": why}
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
