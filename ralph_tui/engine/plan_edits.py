"""What a person changes in a plan, as pure functions; a change that would break the plan is refused."""

from collections.abc import Sequence
from difflib import get_close_matches

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan import Criterion, ImplementationPlan, Task, TaskStatus, in_order
from ralph_tui.domain.verification import criterion_text, runnable_command

NOTHING_CHANGED = "Nothing was changed."


def find(plan: ImplementationPlan, task_id: str) -> Task:
    """The task with this id.

    Raises:
        RalphError: There is none; names the nearest.
    """
    task = plan.task(task_id)
    if task is not None:
        return task
    near = get_close_matches(task_id, [t.id for t in plan.tasks], n=1)
    hint = f"Did you mean {near[0]}?" if near else "`ralph tasks` lists them."
    raise RalphError(f"There is no task {task_id!r} in the plan.", hint)


def find_open(plan: ImplementationPlan, task_id: str) -> Task:
    """The task with this id, which is not complete.

    Raises:
        RalphError: There is none, or it is complete.
    """
    task = find(plan, task_id)
    if task.status is TaskStatus.COMPLETE:
        raise RalphError(f"Task {task_id} is complete already.", NOTHING_CHANGED)
    return task


def edited(
    plan: ImplementationPlan,
    task_id: str,
    *,
    description: str | None = None,
    priority: int | None = None,
    criteria: Sequence[str] | None = None,
    dependencies: Sequence[str] | None = None,
    model: str | None = None,
) -> ImplementationPlan:
    """The plan with a task changed; None leaves a field as it is, an empty model is the configured one.

    Raises:
        RalphError: There is no such task, it is complete, its text is empty, its model is no name, or
            the plan would not work.
    """
    task = find_open(plan, task_id)
    if description is not None and not description.strip():
        raise RalphError("A task needs a description.", "Say what is to be done.")
    given = {
        "description": description,
        "priority": priority,
        "verification_criteria": None if criteria is None else _kept(task, criteria),
        "dependencies": None if dependencies is None else tuple(dict.fromkeys(dependencies)),
    }
    changes: dict[str, object] = {k: value for k, value in given.items() if value is not None}
    if model is not None:
        changes["model"] = _model_name(model)
    return _sound(plan, plan.with_task(task_id, **changes))


def moved(plan: ImplementationPlan, task_id: str, step: int) -> ImplementationPlan:
    """The plan with an open task worked one place sooner (`step` -1) or later (1); unchanged at the end.

    It takes its neighbour's priority and, where that alone would carry it too far, its place.

    Raises:
        RalphError: There is no such task, or it is complete.
    """
    task = find_open(plan, task_id)
    order = [t.id for t in in_order(plan.tasks)]
    at = order.index(task_id)
    to = at + step
    if not 0 <= to < len(order):
        return plan
    other = find(plan, order[to])
    order[at], order[to] = order[to], order[at]
    after = plan.with_task(task_id, priority=other.priority)
    if [t.id for t in in_order(after.tasks)] == order:
        return after
    tasks = [t for t in after.tasks if t.id != task_id]
    tasks.insert(
        tasks.index(other) + (step > 0), task.model_copy(update={"priority": other.priority})
    )
    return plan.model_copy(update={"tasks": tuple(tasks)})


def _model_name(typed: str) -> str | None:
    words = typed.split()
    if len(words) > 1:
        message = f"{' '.join(words)!r} is not the name of a model, such as opus."
        raise RalphError(message, NOTHING_CHANGED)
    return words[0] if words else None


def held(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    """The plan with a task that is not chosen until it is released; one being worked is put back.

    Raises:
        RalphError: There is no such task, it is held already, or it is complete or blocked.
    """
    task = find_open(plan, task_id)
    if task.status is TaskStatus.BLOCKED:
        raise RalphError(f"Task {task_id} is blocked, so it is not chosen.", NOTHING_CHANGED)
    if task.held:
        raise RalphError(f"Task {task_id} is held already.", NOTHING_CHANGED)
    return plan.with_task(task_id, held=True, status=TaskStatus.PENDING)


def released(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    """The plan with a held task that can be chosen again.

    Raises:
        RalphError: There is no such task, or it is not held.
    """
    if not find(plan, task_id).held:
        raise RalphError(f"Task {task_id} is not held.", NOTHING_CHANGED)
    return plan.with_task(task_id, held=False)


def _kept(task: Task, lines: Sequence[str]) -> tuple[Criterion, ...]:
    """The criteria these lines mean: one that is typed as it was shown stays what it is."""
    known: dict[str, Criterion] = {}
    for criterion in task.verification_criteria:
        description = "" if isinstance(criterion, str) else criterion.description
        for shown in (criterion_text(criterion), runnable_command(criterion), description):
            if shown:
                known.setdefault(" ".join(shown.split()), criterion)
    return tuple(known.get(" ".join(line.split()), line) for line in lines)


def dropped(plan: ImplementationPlan, task_id: str) -> ImplementationPlan:
    """The plan without a task.

    Raises:
        RalphError: There is no such task, it is complete, or others depend on it.
    """
    find_open(plan, task_id)
    needing = [t.id for t in plan.tasks if task_id in t.dependencies]
    if needing:
        message = f"{', '.join(needing)} depend{'s' * (len(needing) == 1)} on {task_id}."
        raise RalphError(message, "Drop them first, or change their dependencies.")
    return plan.model_copy(update={"tasks": tuple(t for t in plan.tasks if t.id != task_id)})


def split(plan: ImplementationPlan, task_id: str, parts: Sequence[str]) -> ImplementationPlan:
    """The plan with a task in parts, each building on the one before; the last keeps the criteria.

    Raises:
        RalphError: There is no such task, it is complete or being worked, or a part is empty.
    """
    task = find_open(plan, task_id)
    if task.status is TaskStatus.IN_PROGRESS:
        raise RalphError(f"Task {task_id} is being worked.", "Pause the loop first, or skip it.")
    if len(parts) < 2 or not all(part.strip() for part in parts):
        raise RalphError("A task is split into two parts or more.", "Say what each part is to do.")
    ids = [f"{task_id}-{number}" for number in range(1, len(parts) + 1)]
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
            model=task.model,
        )
        for number, part in enumerate(parts)
    ]
    tasks: list[Task] = []
    for other in plan.tasks:
        waits = tuple(ids[-1] if dep == task_id else dep for dep in other.dependencies)
        tasks += new if other.id == task_id else [other.model_copy(update={"dependencies": waits})]
    return _sound(plan, plan.model_copy(update={"tasks": tuple(tasks)}))


def _sound(before: ImplementationPlan, after: ImplementationPlan) -> ImplementationPlan:
    """The changed plan, unless the change brings a problem that was not there."""
    old = before.problems()
    new = [problem.message for problem in after.problems() if problem not in old]
    if new:
        raise RalphError(" ".join(new[:3]), NOTHING_CHANGED)
    return after
