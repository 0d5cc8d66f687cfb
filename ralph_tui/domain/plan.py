"""Tasks and the plan: selection, dependencies, and the checks made before money is spent."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import count
from typing import Any, Literal

from ralph_tui.domain.model import Count, Model, Money, Record, Timestamp
from ralph_tui.domain.text import inert

PLAN_SCHEMA_VERSION = 1
MAX_RETRIES = 3
"""The failed attempt with this number blocks the task."""

MAX_ID = 200
"""Characters of a task's id; it is typed, shown in lists and named in tool calls."""

DEFAULT_PRIORITY = 100
"""Tasks without a priority come after those that have one, in plan order."""


class TaskStatus(StrEnum):
    """Where a task is in its life."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    BLOCKED = "blocked"


class CommandCriterion(Record):
    """A verification criterion written as an object with a command."""

    command: str
    description: str = ""


Criterion = str | CommandCriterion


class Begun(Record):
    """The project when the first attempt at a task began; a claim is held against it."""

    files: str = ""
    """Stands for all its files; empty where there are too many to look at."""
    lock: str = ""
    """The same for uv's lock file, which checks may write; empty without one."""
    tests: Count = 0
    """Test functions."""


class Task(Record):
    """One unit of work, sized for a single context window."""

    id: str
    description: str = ""
    priority: int = DEFAULT_PRIORITY
    status: TaskStatus = TaskStatus.PENDING
    dependencies: tuple[str, ...] = ()
    verification_criteria: tuple[Criterion, ...] = ()
    blockers: tuple[str, ...] = ()
    estimated_tokens: Count | None = None
    actual_tokens_used: Count | None = None
    actual_cost_usd: Money | None = None
    """What every try of it has cost so far; None: it was not tried."""
    completion_notes: str | None = None
    completed_at: Timestamp | None = None
    retry_count: Count = 0
    held: bool = False
    """The person wants it later: it is not chosen until it is released."""
    model: str | None = None
    """Works this task in the place of the configured model."""
    begun: Begun | None = None
    """Only while it is worked on."""

    @property
    def is_held(self) -> bool:
        """Whether a hold is what keeps it from being chosen; a task that is over is not held."""
        return self.held and self.status is TaskStatus.PENDING

    @property
    def title(self) -> str:
        """The first line of the description, or the id when there is none."""
        return next(iter(self.description.strip().splitlines()), "") or self.id


class PlanProblem(Model):
    """Something that makes a plan unworkable."""

    kind: Literal["empty_id", "odd_id", "duplicate_id", "unknown_dependency", "cycle"]
    task_id: str
    message: str
    path: tuple[str, ...] = ()


class ImplementationPlan(Record):
    """The task list, `.ralph/implementation_plan.json`."""

    schema_version: int = PLAN_SCHEMA_VERSION
    tasks: tuple[Task, ...] = ()
    created_at: Timestamp | None = None
    last_modified: Timestamp | None = None

    def task(self, task_id: str) -> Task | None:
        """The task with this id, or None."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def get_next_task(self) -> Task | None:
        """Pending, not held, dependencies complete, lowest priority number, then plan order."""
        return min(self.ready(), key=lambda task: task.priority, default=None)

    def get_current_task(self) -> Task | None:
        """The task in progress, or None."""
        return next((t for t in self.tasks if t.status is TaskStatus.IN_PROGRESS), None)

    def ready(self) -> tuple[Task, ...]:
        """Pending tasks that are not held and whose dependencies are all complete, in plan order."""
        done = self.complete_ids()
        return tuple(
            task
            for task in self.tasks
            if task.status is TaskStatus.PENDING
            and not task.held
            and done.issuperset(task.dependencies)
        )

    def complete_ids(self) -> frozenset[str]:
        """Ids of the tasks that are complete."""
        return frozenset(t.id for t in self.tasks if t.status is TaskStatus.COMPLETE)

    def waiting_on(self, task: Task, done: frozenset[str] | None = None) -> tuple[str, ...]:
        """Dependencies of `task` that are not complete yet; whoever asks for many gives `complete_ids`."""
        done = self.complete_ids() if done is None else done
        return tuple(dep for dep in task.dependencies if dep not in done)

    def counts(self) -> Counter[TaskStatus]:
        """How many tasks have each status."""
        return Counter(task.status for task in self.tasks)

    @property
    def completion_percentage(self) -> float:
        """Share of tasks complete, 0.0 to 1.0; an empty plan is 0.0, never done."""
        return len(self.complete_ids()) / len(self.tasks) if self.tasks else 0.0

    @property
    def is_finished(self) -> bool:
        """Every task complete, and there is at least one."""
        return bool(self.tasks) and all(t.status is TaskStatus.COMPLETE for t in self.tasks)

    def with_task(self, task_id: str, **changes: Any) -> "ImplementationPlan":
        """A copy in which the named task has `changes`; unchanged when there is no such task."""
        return self.model_copy(
            update={
                "tasks": tuple(
                    t.model_copy(update=changes) if t.id == task_id else t for t in self.tasks
                )
            }
        )

    def adding(self, tasks: Iterable[Task]) -> "ImplementationPlan":
        """A copy with `tasks` at the end."""
        return self.model_copy(update={"tasks": (*self.tasks, *tasks)})

    def reset_stale(self) -> tuple["ImplementationPlan", tuple[str, ...]]:
        """Put tasks a dead session left in progress back to pending; also their ids."""
        stale = tuple(t.id for t in self.tasks if t.status is TaskStatus.IN_PROGRESS)
        plan = self
        for task_id in stale:
            plan = plan.with_task(task_id, status=TaskStatus.PENDING)
        return plan, stale

    def problems(self) -> tuple[PlanProblem, ...]:
        """Everything that makes this plan unworkable; empty when it can be worked."""
        known = {task.id for task in self.tasks}
        return (
            *_id_problems(self.tasks),
            *(
                PlanProblem(
                    kind="unknown_dependency",
                    task_id=task.id,
                    message=f"Task {task.id!r} depends on {dep!r}, which is not in the plan.",
                    path=(task.id, dep),
                )
                for task in self.tasks
                for dep in task.dependencies
                if dep not in known
            ),
            *_cycle_problems({t.id: t.dependencies for t in self.tasks}),
        )

    def why_unworkable(self) -> str:
        """The first of these problems in words."""
        return " ".join(problem.message for problem in self.problems()[:5])


_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
"""What ids that count have in common, and the number."""


def free_id(plan: ImplementationPlan) -> str:
    """An id for one more task: the next number of the ids that most tasks have, such as task-004."""
    plain = (task.id for task in plan.tasks if len(task.id) < MAX_ID and not _odd(task.id))
    counted = [found.groups() for found in map(_NUMBERED.fullmatch, plain) if found]
    stems = Counter(stem for stem, _ in counted)
    # The parts of a split task, such as task-004-1, are no example for a new one.
    whole = [stem for stem in stems if not any(map(str.isdigit, stem))]
    stem = max(whole or stems, key=stems.__getitem__, default="task-")
    numbers = [number for other, number in counted if other == stem] or ["000"]
    known = {task.id for task in plan.tasks}
    width, after = max(map(len, numbers)), max(map(int, numbers)) + 1
    made = (f"{stem}{number:0{width}}" for number in count(after))
    return next(task_id for task_id in made if task_id not in known)


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks that are not complete, in the order of their priorities."""
    left = (task for task in tasks if task.status is not TaskStatus.COMPLETE)
    return sorted(left, key=lambda task: task.priority)


def plan_size(tasks: Iterable[Task]) -> str:
    """How much is left to do, for the person who is asked to approve it."""
    left = in_order(tasks)
    tokens = sum(t.estimated_tokens or 0 for t in left)
    return f"{len(left)} task{'' if len(left) == 1 else 's'}, about {tokens:,} tokens"


def why_chosen(plan: ImplementationPlan, task: Task) -> str:
    """One sentence that says why the selection rule picked `task`."""
    ready = plan.ready()
    if len(ready) <= 1:
        return f"priority {task.priority}, the only task that is ready"
    ties = sum(1 for other in ready if other.priority == task.priority)
    rule = "lowest priority number" if ties == 1 else "lowest priority number, first in the plan"
    return f"priority {task.priority}, {rule} of {len(ready)} ready"


def _blank(task_id: str) -> bool:
    """Whether nothing of an id is left to see and to type; most are plain, which is seen sooner."""
    return not (task_id if task_id.isprintable() else inert(task_id)).strip()


def _odd(task_id: str) -> str:
    """Why nobody could name a task by this id, in a command or a tool call; empty when they can."""
    if len(task_id) > MAX_ID:
        return f"an id of {len(task_id)} characters, more than {MAX_ID}"
    plain = task_id.isprintable() or not set(task_id) & {"\n", "\t"}
    if plain and inert(task_id) == task_id == task_id.strip():
        return ""
    return f"an id that cannot be named ({task_id!r:.80}): spaces around it, line ends, control characters or a key"


def _id_problems(tasks: tuple[Task, ...]) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    positions: dict[str, list[int]] = {}
    for number, task in enumerate(tasks, 1):
        positions.setdefault(task.id, []).append(number)
        if _blank(task.id):
            wrong = f"an id without a visible character ({task.id!r:.80})" if task.id else "no id"
            found.append(
                PlanProblem(kind="empty_id", task_id=task.id, message=f"Task {number} has {wrong}.")
            )
        elif wrong := _odd(task.id):
            found.append(
                PlanProblem(kind="odd_id", task_id=task.id, message=f"Task {number} has {wrong}.")
            )
    for task_id, where in positions.items():
        if len(where) > 1 and not _blank(task_id):
            places = " and ".join(str(n) for n in where)
            found.append(
                PlanProblem(
                    kind="duplicate_id",
                    task_id=task_id,
                    message=f"Task id {task_id!r} is used more than once (tasks {places}).",
                )
            )
    return found


def _cycle_problems(graph: Mapping[str, tuple[str, ...]]) -> list[PlanProblem]:
    """Each cycle once, as a path that ends where it began; iterative, so depth costs no stack."""
    found: list[PlanProblem] = []
    finished: set[str] = set()
    for start in graph:
        if start in finished:
            continue
        path: list[str] = [start]
        on_path = {start}
        pending = [iter(graph[start])]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
                done = path.pop()
                on_path.discard(done)
                finished.add(done)
            elif node in on_path:
                loop = (*path[path.index(node) :], node)
                found.append(
                    PlanProblem(
                        kind="cycle",
                        task_id=node,
                        message=f"Tasks depend on each other in a circle: {' → '.join(loop)}.",
                        path=loop,
                    )
                )
            elif node in graph and node not in finished:
                path.append(node)
                on_path.add(node)
                pending.append(iter(graph[node]))
    return found
