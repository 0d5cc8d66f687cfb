"""Finds the current task again after somebody edited the plan; pure.

The task is promised as it was when its attempt began. The person's edit wins: a renamed task is the
same task, a removed one or one that has to wait now is left, and new words count from the edit on.
"""

from collections.abc import Iterator

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import criterion_text


def found(plan: ImplementationPlan, began: Task) -> Task | None:
    """Return the task as it is now, under another id when it was renamed; None when that is unknown."""
    named = [task for task in plan.tasks if task.id == began.id]
    if not named and began.begun is not None:
        # Only one task runs at a time, and `begun` belongs to it.
        named = [t for t in plan.tasks if _in_progress(t) and t.begun == began.begun]
    return named[0] if len(named) == 1 else None


def why_taken(plan: ImplementationPlan, began: Task) -> str:
    """Return why work on the task must end; empty while it may continue."""
    now = found(plan, began)
    if now is None:
        number = sum(task.id == began.id for task in plan.tasks)
        return f"{number} tasks have its id" if number else "it is not in the plan any more"
    if now.status is not TaskStatus.IN_PROGRESS:
        return "it is held" if now.is_held else f"it is {now.status.value.replace('_', ' ')} now"
    waits = [dep for dep in plan.waiting_on(now) if dep not in began.dependencies]
    return f"it waits for {', '.join(waits)} now" if waits else ""


def reworded(before: Task, now: Task) -> str:
    """Return which words about the work itself changed; empty when none did."""
    changed = {
        "its description": before.description != now.description,
        "its criteria": before.verification_criteria != now.verification_criteria,
    }
    return " and ".join(name for name, differs in changed.items() if differs)


def in_its_words(task: Task) -> str:
    """Return what is to be done, as the agent reads it after an edit."""
    return "\n".join(_lines(task))


def _lines(task: Task) -> Iterator[str]:
    yield f"Task {task.id}: {task.description}"
    yield "Verification criteria:" if task.verification_criteria else "No verification criteria."
    for criterion in task.verification_criteria:
        yield f"- {criterion_text(criterion)}"


def _in_progress(task: Task) -> bool:
    return task.status is TaskStatus.IN_PROGRESS
