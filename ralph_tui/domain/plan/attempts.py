"""Count the attempts and iterations of a task, and decide when the loop gives up on it."""

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.sanitize import one_line

_REASON_CHARS = 300


class TaskLimits(Model):
    """How often the loop attempts a task before it blocks the task; 0 means no limit."""

    max_attempts: Count = 3
    max_iterations: Count = 10
    """Iterations of any outcome, including hand-offs."""


def after_iteration(
    task: Task, reason: str, limits: TaskLimits, *, failed: bool, counted: bool = False
) -> dict[str, object]:
    """Return the changes to a task after an iteration that did not complete it: pending again, or blocked.

    Args:
        limits: When the loop gives up on the task.
        failed: Whether the iteration was a failed attempt; a hand-off is not.
        counted: Whether the failed attempt is already in `retry_count`.
    """
    attempts = task.retry_count + (failed and not counted)
    iterations = task.iterations + 1
    changes: dict[str, object] = {
        "retry_count": attempts,
        "iterations": iterations,
        "status": TaskStatus.PENDING,
    }
    last = one_line(reason, _REASON_CHARS)
    blocker = ""
    if failed and 0 < limits.max_attempts <= attempts:
        blocker = f"{plural(attempts, 'attempt')} failed; the last: {last}"
    elif 0 < limits.max_iterations <= iterations:
        blocker = f"{plural(iterations, 'iteration')} did not finish it; the last: {last}"
    if blocker:
        changes |= {"status": TaskStatus.BLOCKED, "blockers": (*task.blockers, blocker)}
    return changes
