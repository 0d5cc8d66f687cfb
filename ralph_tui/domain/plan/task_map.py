"""The tasks of a plan while they change one by one."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from functools import cached_property
from operator import is_

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.plan.plan_validation import PlanProblem

MOST_NEWS = 200
"""Changed tasks that are kept beside the others before all of them are copied."""


@dataclass(frozen=True, eq=False, repr=False)
class Tasks(Mapping[str, Task]):  # noqa: PLW1641 - like every mapping it has no hash
    """Tasks by id, in the order of the plan; `tasks_of` makes them.

    One that changes costs no copy of ten thousand others, and whoever follows
    the plan can ask which ones have changed.
    """

    base: Mapping[str, Task] = field(default_factory=dict)
    news: Mapping[str, Task] = field(default_factory=dict)
    """In the place of those in `base`."""
    complete: int = 0
    """How many are complete."""

    def __getitem__(self, task_id: str) -> Task:
        return self.news[task_id] if task_id in self.news else self.base[task_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.base)

    def __len__(self) -> int:
        return len(self.base)

    def __eq__(self, other: object) -> bool:
        return self is other or self.whole == (other.whole if isinstance(other, Tasks) else other)

    def __repr__(self) -> str:
        return f"tasks_of({list(self.values())!r})"

    def values(self) -> ValuesView[Task]:
        """Return the tasks in the order of the plan."""
        return self.whole.values()

    def items(self) -> ItemsView[str, Task]:
        """Return ids and tasks in the order of the plan."""
        return self.whole.items()

    @cached_property
    def whole(self) -> dict[str, Task]:
        """All in one."""
        return {**self.base, **self.news}

    def having(self, task: Task) -> "Tasks":
        """Return the map with this task in its place, or at the end."""
        old = self.get(task.id)
        news = {**self.news, task.id: task}
        complete = self.complete + _done(task) - (old is not None and _done(old))
        if old is None or len(news) > MOST_NEWS:
            return Tasks({**self.base, **news}, complete=complete)
        return Tasks(self.base, news, complete)

    def told_anew(self, tasks: Iterable[Task]) -> "Tasks":
        """Return a map of these tasks, or this one when they are the same in the same order.

        A task that did not change stays the same object, which is compared at once.
        """
        pairs = ((self.get(task.id), task) for task in tasks)
        told = [task if known is None or known != task else known for known, task in pairs]
        same = len(told) == len(self) and all(map(is_, told, self.values()))
        return self if same else tasks_of(told)

    def changed_since(self, before: "Tasks") -> list[Task] | None:
        """Return the tasks that changed; None when tasks were added, removed or moved."""
        if self.base is before.base:
            names = self.news.keys() | before.news.keys()
            pairs = [(self[name], before[name]) for name in names]
        elif list(self) == list(before):
            pairs = list(zip(self.values(), before.values(), strict=True))
        else:
            return None
        return [now for now, then in pairs if now is not then and now != then]

    def is_ordered_like(self, before: "Tasks") -> bool:
        """Return whether everything that decides the order of work is the same: names, places, dependencies."""
        changed = self.changed_since(before)
        return changed is not None and all(
            (task.priority, task.dependencies)
            == (before[task.id].priority, before[task.id].dependencies)
            for task in changed
        )


def tasks_of(tasks: Iterable[Task]) -> Tasks:
    """Return the tasks of a plan; of two with the same id the later counts."""
    base = {task.id: task for task in tasks}
    return Tasks(base, complete=sum(map(_done, base.values())))


def _done(task: Task) -> bool:
    return task.status is TaskStatus.COMPLETE


@dataclass(frozen=True)
class Checked:
    """What makes a plan unworkable; a task that only gets on does not have all of them looked at again."""

    tasks: Tasks = field(default_factory=Tasks)
    problems: tuple[PlanProblem, ...] = ()

    def again(self, tasks: Tasks) -> "Checked":
        """Check the plan as it is now; where its order is the same, so are its problems."""
        if tasks.is_ordered_like(self.tasks):
            return Checked(tasks, self.problems)
        return Checked(tasks, ImplementationPlan(tasks=tuple(tasks.values())).problems())
