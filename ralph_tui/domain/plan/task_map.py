"""The tasks of a plan as a map that is cheap to change, and how to find a task again after the person's edits."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import criterion_text

MAX_UPDATES = 200
"""Changed tasks that are kept in `updates` before the whole map is copied."""


@dataclass(frozen=True, eq=False, repr=False)
class Tasks(Mapping[str, Task]):  # noqa: PLW1641 - mappings have no hash
    """Tasks by id, in the order of the plan; made by `tasks_of`.

    Changing one task does not copy ten thousand others, and `changed_since` finds the changed ones.
    """

    base: Mapping[str, Task] = field(default_factory=dict)
    updates: Mapping[str, Task] = field(default_factory=dict)
    """Changed tasks, which replace those in `base`."""
    complete: int = 0

    def __getitem__(self, task_id: str) -> Task:
        return self.updates[task_id] if task_id in self.updates else self.base[task_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.base)

    def __len__(self) -> int:
        return len(self.base)

    def __eq__(self, other: object) -> bool:
        return self is other or self.whole == (other.whole if isinstance(other, Tasks) else other)

    def __repr__(self) -> str:
        return f"tasks_of({list(self.values())!r})"

    def values(self) -> ValuesView[Task]:
        return self.whole.values()

    def items(self) -> ItemsView[str, Task]:
        return self.whole.items()

    @cached_property
    def whole(self) -> dict[str, Task]:
        return {**self.base, **self.updates}

    def with_task(self, task: Task) -> "Tasks":
        """Return a map in which `task` replaces the task with its id, or is added at the end."""
        old = self.get(task.id)
        updates = {**self.updates, task.id: task}
        complete = self.complete + _is_complete(task) - (old is not None and _is_complete(old))
        if old is None or len(updates) > MAX_UPDATES:
            return Tasks({**self.base, **updates}, complete=complete)
        return Tasks(self.base, updates, complete)

    def refreshed(self, tasks: Iterable[Task]) -> "Tasks":
        """Return a map of `tasks`, or this one if they are equal and in the same order.

        Unchanged tasks stay the same objects, so that later comparisons are fast.
        """
        pairs = ((self.get(task.id), task) for task in tasks)
        tasks_now = [task if known is None or known != task else known for known, task in pairs]
        same = len(tasks_now) == len(self) and all(map(is_, tasks_now, self.values()))
        return self if same else tasks_of(tasks_now)

    def changed_since(self, before: "Tasks") -> list[Task] | None:
        """Return the tasks that changed, or None if tasks were added, removed or moved."""
        if self.base is before.base:
            names = self.updates.keys() | before.updates.keys()
            pairs = [(self[name], before[name]) for name in names]
        elif list(self) == list(before):
            pairs = list(zip(self.values(), before.values(), strict=True))
        else:
            return None
        return [now for now, then in pairs if now is not then and now != then]

    def is_ordered_like(self, before: "Tasks") -> bool:
        """Return whether the order of work is the same: the same ids, places, priorities and dependencies."""
        changed = self.changed_since(before)
        return changed is not None and all(
            (task.priority, task.dependencies)
            == (before[task.id].priority, before[task.id].dependencies)
            for task in changed
        )


def tasks_of(tasks: Iterable[Task]) -> Tasks:
    base = {task.id: task for task in tasks}
    return Tasks(base, complete=sum(map(_is_complete, base.values())))


def _is_complete(task: Task) -> bool:
    return task.status is TaskStatus.COMPLETE


def found(plan: ImplementationPlan, began: Task) -> Task | None:
    """Return the current version of the task that began, even if its id was changed; None if it is not unique."""
    matches = [task for task in plan.tasks if task.id == began.id]
    if not matches and began.begun is not None:
        # Only one task runs at a time, so `begun` identifies it.
        running = (task for task in plan.tasks if task.status is TaskStatus.IN_PROGRESS)
        matches = [task for task in running if task.begun == began.begun]
    return matches[0] if len(matches) == 1 else None


def withdrawal_reason(plan: ImplementationPlan, began: Task) -> str:
    """Return why work on the task must end, or an empty string if it may continue."""
    now = found(plan, began)
    if now is None:
        number = sum(task.id == began.id for task in plan.tasks)
        return f"{number} tasks have its id" if number else "it is no longer in the plan"
    if now.status is not TaskStatus.IN_PROGRESS:
        return "it is on hold" if now.is_held else f"it is {now.status.value.replace('_', ' ')} now"
    waits = [dep for dep in plan.waiting_on(now) if dep not in began.dependencies]
    return f"it waits for {', '.join(waits)} now" if waits else ""


def reworded(before: Task, now: Task) -> str:
    """Return which texts about the work changed, or an empty string if none did."""
    changed = {
        "its description": before.description != now.description,
        "its criteria": before.verification_criteria != now.verification_criteria,
    }
    return " and ".join(name for name, differs in changed.items() if differs)


def task_text(task: Task) -> str:
    criteria = [f"- {criterion_text(criterion)}" for criterion in task.verification_criteria]
    heading = "Verification criteria:" if criteria else "No verification criteria."
    return "\n".join([f"Task {task.id}: {task.description}", heading, *criteria])
