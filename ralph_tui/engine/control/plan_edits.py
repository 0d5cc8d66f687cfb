"""Change a plan for a person, with pure functions that refuse a change that would make the plan invalid."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count, islice

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import (
    DEFAULT_PRIORITY,
    ImplementationPlan,
    Task,
    TaskStatus,
    free_id,
    in_order,
    open_order,
)
from ralph_tui.domain.verification.check_commands import runnable_command
from ralph_tui.domain.verification.verification import Criterion, TaskVerification, criterion_text

NOTHING_CHANGED = "Nothing was changed."


def find(plan: ImplementationPlan, task_id: str) -> Task:
    task = plan.task(task_id)
    if task is not None:
        return task
    raise RalphError(f"There is no task {task_id!r} in the plan.", _id_hint(plan, task_id))


def _id_hint(plan: ImplementationPlan, task_id: str) -> str:
    near = get_close_matches(task_id, [t.id for t in plan.tasks], n=1)
    return f"Did you mean {near[0]}?" if near else "List the IDs with `ralph tasks`."


def why_not_change(task: Task) -> str:
    return f"Task {task.id} is already complete." if task.status is TaskStatus.COMPLETE else ""


def why_not_retry(task: Task) -> str:
    if task.status is TaskStatus.BLOCKED:
        return ""
    return f"Task {task.id} is {task.status.value.replace('_', ' ')}, not blocked."


def why_not_hold(task: Task) -> str:
    if task.status is TaskStatus.BLOCKED:
        return f"Task {task.id} is blocked, so it does not run anyway."
    return why_not_change(task) or (f"Task {task.id} is already on hold." if task.held else "")


def why_not_release(task: Task) -> str:
    return "" if task.held else f"Task {task.id} is not on hold."


def _allowed(plan: ImplementationPlan, task_id: str, why_not: Callable[[Task], str]) -> Task:
    task = find(plan, task_id)
    if reason := why_not(task):
        raise RalphError(reason, NOTHING_CHANGED)
    return task


def find_open(plan: ImplementationPlan, task_id: str) -> Task:
    return _allowed(plan, task_id, why_not_change)


def moved(plan: ImplementationPlan, task_id: str, step: int) -> ImplementationPlan:
    """Return the plan with an open task one place earlier (`step` -1) or later (1); unchanged at either end.

    The task gets its neighbor's priority and, if that alone would move it too far, its neighbor's place.
    """
    task = find_open(plan, task_id)
    order = [t.id for t in open_order(plan.tasks)]
    at = order.index(task_id)
    to = at + step
    if not 0 <= to < len(order):
        return plan
    other = find(plan, order[to])
    first, second = (task, other) if step > 0 else (other, task)
    if first.id in second.dependencies:
        message = f"Task {second.id} depends on {first.id}, so it cannot run first."
        raise RalphError(message, NOTHING_CHANGED)
    order[at], order[to] = order[to], order[at]
    after = plan.with_task(task_id, priority=other.priority)
    if [t.id for t in open_order(after.tasks)] == order:
        return after
    tasks = [t for t in after.tasks if t.id != task_id]
    tasks.insert(
        tasks.index(other) + (step > 0), task.model_copy(update={"priority": other.priority})
    )
    return plan.model_copy(update={"tasks": tuple(tasks)})


SKIPPED = "skipped by the person"


def skipped(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    task = find_open(plan, task_id)
    blockers = (*(b for b in task.blockers if b != SKIPPED), SKIPPED)
    return plan.with_task(task_id, status=TaskStatus.BLOCKED, blockers=blockers)


def completed(
    plan: ImplementationPlan, task_id: str, verification: TaskVerification
) -> ImplementationPlan:
    find_open(plan, task_id)
    return plan.with_task(
        task_id,
        status=TaskStatus.COMPLETE,
        verification=verification,
        completed_at=verification.at,
        completion_notes=verification.reason or None,
        blockers=(),
        begun=None,
    )


def retried(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    _allowed(plan, task_id, why_not_retry)
    return plan.with_task(
        task_id,
        status=TaskStatus.PENDING,
        blockers=(),
        retry_count=0,
        iterations=0,
        review_rejections=0,
    )


def held(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    _allowed(plan, task_id, why_not_hold)
    return plan.with_task(task_id, held=True, status=TaskStatus.PENDING)


def released(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    _allowed(plan, task_id, why_not_release)
    return plan.with_task(task_id, held=False)


def by_hand(before: Task | None, after: Task) -> str:
    """Return what somebody did to a task whose change was found on disk."""
    if before is None:
        what = "added"
    elif after.held is not before.held:
        what = "put on hold" if after.held else "released"
    elif SKIPPED in after.blockers and SKIPPED not in before.blockers:
        what = "skipped"
    elif after.status is before.status:
        what = "changed"
    else:
        words = {TaskStatus.COMPLETE: "marked complete", TaskStatus.PENDING: "requeued"}
        what = words.get(after.status, "changed")
    return f"{what} by hand"


def dropped(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    find_open(plan, task_id)
    needing = [t.id for t in plan.tasks if task_id in t.dependencies]
    if needing:
        message = f"{', '.join(needing)} depend{'s' * (len(needing) == 1)} on {task_id}."
        raise RalphError(message, "Drop them first, or change their dependencies.")
    return plan.model_copy(update={"tasks": tuple(t for t in plan.tasks if t.id != task_id)})


def split(plan: ImplementationPlan, task_id: str, parts: Sequence[str]) -> ImplementationPlan:
    """Return the plan with a task split in parts, each depending on the previous one; the last keeps the criteria."""
    task = find_open(plan, task_id)
    if task.status is TaskStatus.IN_PROGRESS:
        raise RalphError(
            f"Task {task_id} is in progress.", "Pause the loop first, or skip the task."
        )
    if len(parts) < 2 or not all(part.strip() for part in parts):
        raise RalphError(
            "Splitting a task takes at least 2 parts.", "Describe what each part does."
        )
    taken = {other.id for other in plan.tasks}
    free = (new_id for number in count(1) if (new_id := f"{task_id}-{number}") not in taken)
    ids = list(islice(free, len(parts)))
    share = -(-task.estimated_tokens // len(parts)) if task.estimated_tokens else None
    new = [
        Task(
            id=ids[number],
            description=part.strip(),
            priority=task.priority,
            dependencies=(ids[number - 1],) if number else task.dependencies,
            verification_criteria=task.verification_criteria if number == len(parts) - 1 else (),
            estimated_tokens=share,
            held=task.held,
            may_be_unverified=task.may_be_unverified,
            model=task.model,
        )
        for number, part in enumerate(parts)
    ]
    tasks: list[Task] = []
    for other in plan.tasks:
        waits = tuple(ids[-1] if dep == task_id else dep for dep in other.dependencies)
        tasks += new if other.id == task_id else [other.model_copy(update={"dependencies": waits})]
    return checked_plan(plan, plan.model_copy(update={"tasks": tuple(tasks)}))


def checked_plan(before: ImplementationPlan, after: ImplementationPlan) -> ImplementationPlan:
    old = before.problems()
    new = [problem for problem in after.problems() if problem not in old]
    if new:
        unknown = [p.path[-1] for p in new if p.kind == "unknown_dependency"]
        typed = next((other for other in unknown if before.task(other) is None), None)
        hint = NOTHING_CHANGED if typed is None else f"{_id_hint(before, typed)} {NOTHING_CHANGED}"
        raise RalphError(" ".join(problem.message for problem in new[:3]), hint)
    return after


@dataclass(frozen=True, slots=True)
class TaskFields:
    """The fields of a task that a person sets; None keeps a field, or its default in a new task."""

    description: str | None = None
    priority: int | None = None
    """A lower number runs earlier; a new task without one runs after all other open tasks."""
    criteria: tuple[str, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    model: str | None = None
    """Used from the task's next session on; empty for the configured model."""
    tokens: int | None = None
    """An estimate of the tokens that the task needs; 0 for no estimate."""

    may_change_checks: bool | None = None
    """Whether the task may change existing tests and other check files."""
    touches: tuple[str, ...] | None = None
    shows: str | None = None

    @property
    def is_empty(self) -> bool:
        return self == TaskFields()


def edited(plan: ImplementationPlan, task_id: str, fields: TaskFields) -> ImplementationPlan:
    task = find_open(plan, task_id)
    return checked_plan(plan, plan.with_task(task_id, **_changes(task, fields)))


def added(plan: ImplementationPlan, fields: TaskFields) -> ImplementationPlan:
    last = max((task.priority for task in in_order(plan.tasks)), default=DEFAULT_PRIORITY)
    blank = Task(id=free_id(plan), priority=last)
    wanted = replace(fields, description=fields.description or "")
    return checked_plan(plan, plan.adding([blank.model_copy(update=_changes(blank, wanted))]))


def _changes(task: Task, fields: TaskFields) -> dict[str, object]:
    changes: dict[str, object] = {}
    if fields.description is not None:
        if not fields.description.strip():
            raise RalphError("A task needs a description.", "Describe what the task does.")
        changes["description"] = fields.description
    if fields.criteria is not None:
        changes["verification_criteria"] = _matching_criteria(task, fields.criteria)
    if fields.dependencies is not None:
        changes["dependencies"] = tuple(dict.fromkeys(fields.dependencies))
    if fields.model is not None:
        changes["model"] = _model_name(fields.model)
    if fields.tokens is not None:
        if fields.tokens < 0:
            message = f"{fields.tokens} is not a number of tokens."
            raise RalphError(message, "Give an estimate of at least 1, or 0 for no estimate.")
        changes["estimated_tokens"] = fields.tokens or None
    if fields.shows not in (None, "", "kept"):
        raise RalphError(f"A task cannot show {fields.shows!r}.", "Use kept or none.")
    plain = ("priority", "may_change_checks", "touches", "shows")
    given = {name: getattr(fields, name) for name in plain}
    return changes | {name: value for name, value in given.items() if value is not None}


def _model_name(typed: str) -> str | None:
    words = typed.split()
    if len(words) > 1:
        message = (
            f"{' '.join(words)!r} is not a model name. A model name is one word, such as opus."
        )
        raise RalphError(message, NOTHING_CHANGED)
    return words[0] if words else None


def _matching_criteria(task: Task, lines: Sequence[str]) -> tuple[Criterion, ...]:
    known: dict[str, Criterion] = {}
    for criterion in task.verification_criteria:
        description = "" if isinstance(criterion, str) else criterion.description
        for shown in (criterion_text(criterion), runnable_command(criterion), description):
            if shown:
                known.setdefault(" ".join(shown.split()), criterion)
    return tuple(known.get(" ".join(line.split()), line) for line in lines)
