"""What an iteration leaves behind in the documents; pure functions."""

from ralph_tui.domain.breaker import IterationVerdict
from ralph_tui.domain.events import FailureClass, IterationOutcome
from ralph_tui.domain.model import Count
from ralph_tui.domain.plan import ImplementationPlan, TaskStatus
from ralph_tui.engine.iteration import IterationResult
from ralph_tui.engine.ralph_tools import after_failed_attempt
from ralph_tui.store.project import Documents

_FAILURES = (IterationOutcome.FAILED, IterationOutcome.INCOMPLETE)
_NOT_COUNTED = (IterationOutcome.INTERRUPTED, IterationOutcome.SKIPPED)


def hit_limit(result: IterationResult) -> bool:
    """A usage limit says nothing about the work, so the breaker does not count it."""
    failure = result.failure
    return failure is not None and failure.kind is FailureClass.USAGE_LIMIT


def recorded(docs: Documents, task_id: str, result: IterationResult) -> Documents:
    """The documents after an iteration; pure."""
    complete = result.outcome is IterationOutcome.COMPLETE
    state = docs.state.model_copy(
        update={
            "total_tokens_used": docs.state.total_tokens_used + result.tokens,
            "session_tokens_used": docs.state.session_tokens_used + result.tokens,
            "tasks_completed_this_session": docs.state.tasks_completed_this_session + complete,
        }
    )
    breaker = docs.breaker
    if result.outcome not in _NOT_COUNTED and not hit_limit(result):
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
        )
        breaker = breaker.record_iteration(verdict)
    budget = docs.budget.using(result.context_tokens)
    plan = _plan_after(docs.plan, task_id, result)
    return docs.model_copy(
        update={"state": state, "breaker": breaker, "budget": budget, "plan": plan}
    )


def _plan_after(
    plan: ImplementationPlan, task_id: str, result: IterationResult
) -> ImplementationPlan:
    task = plan.task(task_id)
    if task is None:
        return plan
    used: Count = (task.actual_tokens_used or 0) + result.tokens
    changes: dict[str, object] = {"actual_tokens_used": used}
    if task.status is TaskStatus.IN_PROGRESS:
        changes["status"] = TaskStatus.PENDING
        if result.counts_as_retry:
            changes |= after_failed_attempt(task, result.reason)
    return plan.with_task(task_id, **changes)
