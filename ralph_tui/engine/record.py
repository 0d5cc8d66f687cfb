"""What an iteration leaves behind in the documents and in the journal; pure functions."""

from ralph_tui.domain.breaker import IterationVerdict
from ralph_tui.domain.events import Event, IterationFinished, IterationOutcome
from ralph_tui.domain.model import Count
from ralph_tui.domain.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.state import Phase
from ralph_tui.engine.ending import failure_told
from ralph_tui.engine.guidance import used_up
from ralph_tui.engine.ralph_tools import after_failed_attempt
from ralph_tui.engine.result import IterationResult
from ralph_tui.store.project import Documents

_FAILURES = (IterationOutcome.FAILED, IterationOutcome.INCOMPLETE)
_NOT_COUNTED = (IterationOutcome.INTERRUPTED, IterationOutcome.SKIPPED)


def waited_out(result: IterationResult) -> bool:
    """Whether only waiting helps; that says nothing about the work, so the breaker does not count it."""
    return result.failure is not None and result.failure.kind.passes


def told(number: int, task_id: str, result: IterationResult) -> tuple[Event, ...]:
    """The events that tell how an iteration ended, of a task or of a phase without tasks."""
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
    return (finished,) if result.failure is None else (failure_told(result.failure), finished)


def phase_recorded(docs: Documents, phase: Phase, result: IterationResult) -> Documents:
    """The documents after a session of a phase without tasks; pure."""
    complete = result.outcome in (IterationOutcome.COMPLETE, IterationOutcome.SENT_BACK)
    verdict = IterationVerdict(
        is_failure=not complete,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{phase.value}: {result.reason}",
        error="" if complete else result.reason,
    )
    return _counted(docs, result, verdict)


def recorded(docs: Documents, task_id: str, result: IterationResult) -> Documents:
    """The documents after an iteration; pure."""
    complete = result.outcome is IterationOutcome.COMPLETE
    verdict = IterationVerdict(
        is_failure=result.outcome in _FAILURES,
        tasks_completed=int(complete),
        cost_usd=result.cost_usd,
        evidence=f"{task_id}: {result.reason}",
        error=result.reason if result.outcome in _FAILURES else "",
        denied=result.denied,
        output_tokens=result.output_tokens,
        tests_only=result.tests_only,
        refused_claim=result.refused_claim and not complete,
        files=result.contents,
    )
    counted = _counted(docs, result, verdict)
    done = counted.state.tasks_completed_this_session + complete
    return counted.model_copy(
        update={
            "state": counted.state.model_copy(update={"tasks_completed_this_session": done}),
            "plan": _plan_after(docs.plan, task_id, result),
        }
    )


def _counted(docs: Documents, result: IterationResult, verdict: IterationVerdict) -> Documents:
    """The breaker counts what says something about the work; guidance is used up."""
    breaker = docs.breaker
    if result.outcome not in _NOT_COUNTED and not waited_out(result):
        breaker = breaker.record_iteration(verdict)
    heard = result.failure is None and result.outcome is not IterationOutcome.INTERRUPTED
    return used_up(docs.model_copy(update={"breaker": breaker}), heard=heard)


def _plan_after(
    plan: ImplementationPlan, task_id: str, result: IterationResult
) -> ImplementationPlan:
    task = plan.task(task_id)
    if task is None:
        return plan
    used: Count = (task.actual_tokens_used or 0) + result.tokens
    changes: dict[str, object] = {
        "actual_tokens_used": used,
        "actual_cost_usd": (task.actual_cost_usd or 0.0) + result.cost_usd,
    }
    if task.status is TaskStatus.IN_PROGRESS:
        changes["status"] = TaskStatus.PENDING
        if result.counts_as_retry:
            changes |= after_failed_attempt(task, result.reason)
    return plan.with_task(task_id, **changes)
