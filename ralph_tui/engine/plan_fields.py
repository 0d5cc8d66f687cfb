"""The fields of a task that a person sets: of one that is there, and of a new one. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, free_id, in_order
from ralph_tui.domain.verification.verification import Criterion, criterion_text, runnable_command
from ralph_tui.engine.plan_edits import NOTHING_CHANGED, find_open, sound


@dataclass(frozen=True, slots=True)
class TaskFields:
    """What a person sets of a task; what is None stays, or is left to ralph in a new one."""

    description: str | None = None
    priority: int | None = None
    """Lower is sooner; a new task without one is worked after all others that are open."""
    criteria: tuple[str, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    model: str | None = None
    """Counts from the task's next session on; empty is the configured one."""
    tokens: int | None = None
    """About how many it takes; 0 is no estimate."""

    may_change_checks: bool | None = None
    """Whether it may change tests and other check files that existed before."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is set."""
        return self == TaskFields()


def edited(plan: ImplementationPlan, task_id: str, fields: TaskFields) -> ImplementationPlan:
    """The plan with a task changed.

    Raises:
        RalphError: There is no such task, it is complete, a field is not what it may be, or the plan
            would not work.
    """
    task = find_open(plan, task_id)
    return sound(plan, plan.with_task(task_id, **_changes(task, fields)))


def added(plan: ImplementationPlan, fields: TaskFields) -> ImplementationPlan:
    """The plan with one more task, its last, under an id that is free.

    Raises:
        RalphError: It has no description, a field is not what it may be, or the plan would not work.
    """
    last = max((task.priority for task in in_order(plan.tasks)), default=DEFAULT_PRIORITY)
    bare = Task(id=free_id(plan), priority=last)
    wanted = replace(fields, description=fields.description or "")
    return sound(plan, plan.adding([bare.model_copy(update=_changes(bare, wanted))]))


def _changes(task: Task, fields: TaskFields) -> dict[str, object]:
    """Its fields by name, as they are to be."""
    changes: dict[str, object] = {}
    if fields.description is not None:
        if not fields.description.strip():
            raise RalphError("A task needs a description.", "Say what is to be done.")
        changes["description"] = fields.description
    if fields.priority is not None:
        changes["priority"] = fields.priority
    if fields.criteria is not None:
        changes["verification_criteria"] = _kept(task, fields.criteria)
    if fields.dependencies is not None:
        changes["dependencies"] = tuple(dict.fromkeys(fields.dependencies))
    if fields.model is not None:
        changes["model"] = _model_name(fields.model)
    if fields.tokens is not None:
        changes["estimated_tokens"] = _estimate(fields.tokens)
    if fields.may_change_checks is not None:
        changes["may_change_checks"] = fields.may_change_checks
    return changes


def _estimate(tokens: int) -> int | None:
    if tokens < 0:
        message = f"{tokens} is no number of tokens."
        raise RalphError(message, "Give how many it may take, or 0 for no estimate.")
    return tokens or None


def _model_name(typed: str) -> str | None:
    words = typed.split()
    if len(words) > 1:
        message = f"{' '.join(words)!r} is not the name of a model, such as opus."
        raise RalphError(message, NOTHING_CHANGED)
    return words[0] if words else None


def _kept(task: Task, lines: Sequence[str]) -> tuple[Criterion, ...]:
    """The criteria these lines mean: one that is typed as it was shown stays what it is."""
    known: dict[str, Criterion] = {}
    for criterion in task.verification_criteria:
        description = "" if isinstance(criterion, str) else criterion.description
        for shown in (criterion_text(criterion), runnable_command(criterion), description):
            if shown:
                known.setdefault(" ".join(shown.split()), criterion)
    return tuple(known.get(" ".join(line.split()), line) for line in lines)
