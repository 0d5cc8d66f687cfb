"""Tasks and the plan: fields, selection and dependencies."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from ralph_tui.domain.base import Count, Model, Record, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan_validation import MAX_ID, PlanProblem, odd_id, plan_problems
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import (
    Criterion,
    TaskVerification,
    VerificationOutcome,
    criterion_text,
)

PLAN_SCHEMA_VERSION = 1

DEFAULT_PRIORITY = 100
"""The priority of tasks without one; they come last, in plan order."""


class TaskStatus(StrEnum):
    """The state of a task."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    BLOCKED = "blocked"


class Begun(Record):
    """The mark of a task that an attempt has begun; the gate keeps the state of the project."""


class Origin(Record):
    """Where an imported task comes from. The next import recognizes the task by this."""

    format: str
    path: str = ""
    """The file, relative to the project, with slashes; empty for standard input."""
    id: str = ""
    """The id of the task in that file."""
    hash: str = ""
    """SHA-256 of the imported text, without its state of completion."""
    foreign: Mapping[str, JsonValue] = Field(default_factory=dict)
    """Fields of the file that a task does not have, unchanged."""
    written: str = ""
    """A short hash of the imported fields. A different hash now means that a person edited the task."""


class TaskCommit(Record):
    """The commit that ralph made, or will make, for a complete task."""

    pending: bool = False
    """Whether the commit is still missing. The next run makes it if this one cannot."""
    hash: str = ""
    """The commit, or while pending the one that ralph was about to make. Empty if there was nothing to commit."""
    branch: str = ""
    run: str = ""
    iteration: Count = 0


class Task(Record):
    """One unit of work, sized for a single context window."""

    id: str
    """A short name, unique in the plan."""
    description: str = ""
    """What to do. The first line is the title; a `title` that a person writes goes there."""
    priority: int = DEFAULT_PRIORITY
    """A lower number goes first. Without one a task comes after those that have one."""
    status: TaskStatus = TaskStatus.PENDING
    dependencies: tuple[str, ...] = ()
    """Ids of tasks that must be complete first."""
    verification_criteria: tuple[Criterion, ...] = ()
    """What must be true when the task is done: the name of a check, a command, or prose for a reviewer."""
    blockers: tuple[str, ...] = ()
    """Why the task is blocked."""
    estimated_tokens: Count | None = None
    """The planner's estimate of the tokens it needs."""
    actual_tokens_used: Count | None = None
    """Tokens of all attempts so far."""
    actual_cost_usd: Money | None = None
    """Cost of all attempts so far; None before the first attempt."""
    completion_notes: str | None = None
    """What the agent reported with its claim."""
    completed_at: Timestamp | None = None
    verification: TaskVerification | None = None
    """The evidence for its completion. Only ralph sets it, together with the status."""
    last_failure: str = ""
    """What failed at the last claim or check, for the next attempt; empty when complete."""
    reopened: Count = 0
    """How often a check of the complete task failed later."""
    retry_count: Count = 0
    """Failed attempts since the plan or a person queued it."""
    iterations: Count = 0
    """Iterations since then that did not finish it, including hand-offs."""
    touches: tuple[str, ...] = ()
    """Globs of files that the task changes and that are no tests. A change of them is the work, not of a check."""
    shows: Literal["", "kept"] = ""
    """`kept` if it is enough that nothing broke: a refactoring, a formatting or an upgrade."""
    may_change_checks: bool | tuple[str, ...] = False
    """Whether this task may change tests and other check files that existed before it, or globs of such files."""
    asks_to_change_checks: bool = False
    """Whether the planning model asks for that permission. It counts once a person has approved the plan."""
    review_rejections: Count = 0
    """Claims that a reviewer rejected. The second one waits for a person."""
    held: bool = False
    """Whether the task is on hold until a person releases it."""
    may_be_unverified: bool = False
    """Whether the person agreed to build it although no check can verify it."""
    model: str | None = None
    """The model for this task, instead of the configured one."""
    begun: Begun | None = None
    """Set while the task is in progress."""
    group: str = ""
    """Its heading, phase or epic in an imported plan."""
    labels: tuple[str, ...] = ()
    notes: str = ""
    """Further notes of the plan's author for the agent."""
    origin: Origin | None = None
    """Set when the task was imported."""
    commit: TaskCommit | None = None
    """Set when the task is complete and ralph commits."""

    @model_validator(mode="before")
    @classmethod
    def _move_title_into_description(cls, given: object) -> object:
        """Put the `title` of a hand-written task above its description."""
        if not isinstance(given, dict) or not isinstance(title := given.get("title"), str):
            return given
        fields = {name: value for name, value in given.items() if name != "title"}
        described, title = fields.get("description") or "", title.strip()
        if not isinstance(described, str) or described.strip().startswith(title):
            return fields
        return {**fields, "description": "\n\n".join(filter(None, (title, described)))}

    @property
    def changed_checks(self) -> tuple[str, ...]:
        return self.verification.changed_checks if self.verification is not None else ()

    @property
    def is_held(self) -> bool:
        return self.held and self.status is TaskStatus.PENDING

    @property
    def is_unverified(self) -> bool:
        """Whether the task is complete although no check could run for it."""
        verification = self.verification
        return (
            self.status is TaskStatus.COMPLETE
            and verification is not None
            and verification.outcome is VerificationOutcome.UNVERIFIED
        )

    @property
    def status_word(self) -> str:
        return "held" if self.is_held else self.status.value.replace("_", " ")

    @property
    def basis_word(self) -> str:
        """What a complete task rests on if no check verified it, otherwise its status."""
        found = self.verification if self.status is TaskStatus.COMPLETE else None
        if found is not None and found.outcome is not VerificationOutcome.VERIFIED:
            return found.outcome
        return self.status_word

    @property
    def title(self) -> str:
        return next(iter(self.description.strip().splitlines()), "") or self.id

    @property
    def full_text(self) -> str:
        return "\n".join((self.description, *map(criterion_text, self.verification_criteria)))


class RetiredTask(Record):
    """A complete task that was removed from the plan; the archive has its full record."""

    id: str
    title: str = ""
    origin: Origin | None = None
    """Set if the task was imported, so that another import recognizes it."""


class ImplementationPlan(Record):
    """The task list, `.ralph/implementation_plan.json`."""

    schema_version: int = PLAN_SCHEMA_VERSION
    """The version of this format."""
    tasks: tuple[Task, ...] = ()
    created_at: Timestamp | None = None
    last_modified: Timestamp | None = None
    title: str = ""
    description: str = ""
    retired: tuple[RetiredTask, ...] = ()
    """Complete tasks that are no longer listed. Dependencies on them are satisfied."""

    @model_validator(mode="after")
    def _drop_retired_dependencies(self) -> Self:
        """Drop dependencies on retired tasks, which are satisfied, so that other code need not check for them."""
        gone = {task.id for task in self.retired} - {task.id for task in self.tasks}
        if gone:
            tasks = (
                task.model_copy(
                    update={"dependencies": tuple(d for d in task.dependencies if d not in gone)}
                )
                if gone.intersection(task.dependencies)
                else task
                for task in self.tasks
            )
            object.__setattr__(self, "tasks", tuple(tasks))  # frozen, but still under construction
        return self

    def task(self, task_id: str) -> Task | None:
        return next((task for task in self.tasks if task.id == task_id), None)

    def get_next_task(self) -> Task | None:
        return min(self.ready(), key=lambda task: task.priority, default=None)

    def get_current_task(self) -> Task | None:
        return next((t for t in self.tasks if t.status is TaskStatus.IN_PROGRESS), None)

    def ready(self) -> tuple[Task, ...]:
        """Return the pending tasks that are not held and whose dependencies are complete, in plan order."""
        done = self.complete_ids()
        return tuple(
            task
            for task in self.tasks
            if task.status is TaskStatus.PENDING
            and not task.held
            and done.issuperset(task.dependencies)
        )

    def complete_ids(self) -> frozenset[str]:
        return complete_ids(self.tasks)

    def waiting_on(self, task: Task, done: frozenset[str] | None = None) -> tuple[str, ...]:
        """Return the dependencies of `task` that are not complete; `done` is the result of `complete_ids`, if it is known."""
        done = self.complete_ids() if done is None else done
        return tuple(dep for dep in task.dependencies if dep not in done)

    def taken_ids(self) -> frozenset[str]:
        return frozenset({t.id for t in self.tasks} | {t.id for t in self.retired})

    def counts(self) -> Counter[TaskStatus]:
        return Counter(task.status for task in self.tasks)

    @property
    def completion_percentage(self) -> float:
        return len(self.complete_ids()) / len(self.tasks) if self.tasks else 0.0

    @property
    def is_finished(self) -> bool:
        return bool(self.tasks) and all(t.status is TaskStatus.COMPLETE for t in self.tasks)

    def with_task(self, task_id: str, **changes: Any) -> "ImplementationPlan":
        """Return a copy with `changes` to one task; unchanged if there is no such task."""
        return self.model_copy(
            update={
                "tasks": tuple(
                    t.model_copy(update=changes) if t.id == task_id else t for t in self.tasks
                )
            }
        )

    def retiring(self, ids: Collection[str]) -> "ImplementationPlan":
        """Return a copy in which these tasks, if complete, are retired."""
        done = [t for t in self.tasks if t.id in ids and t.status is TaskStatus.COMPLETE]
        fields = {
            **dict(self),
            "tasks": tuple(task for task in self.tasks if task not in done),
            "retired": (
                *self.retired,
                *(RetiredTask(id=t.id, title=t.title, origin=t.origin) for t in done),
            ),
        }
        return ImplementationPlan(**fields)

    def adding(self, tasks: Iterable[Task]) -> "ImplementationPlan":
        return ImplementationPlan(**{**dict(self), "tasks": (*self.tasks, *tasks)})

    def reset_stale(self) -> tuple["ImplementationPlan", tuple[str, ...]]:
        """Return a copy in which tasks that a dead session left in progress are pending, and the ids of those tasks."""
        stale = tuple(t.id for t in self.tasks if t.status is TaskStatus.IN_PROGRESS)
        plan = self
        for task_id in stale:
            plan = plan.with_task(task_id, status=TaskStatus.PENDING)
        return plan, stale

    def problems(self) -> tuple[PlanProblem, ...]:
        return plan_problems([(task.id, task.dependencies) for task in self.tasks])

    def why_unworkable(self) -> str:
        return " ".join(problem.message for problem in self.problems()[:5])


_NUMBERED = r"(.*?)([0-9]{1,9})"
"""A numbered id, split into its stem and its number."""


def free_id(plan: ImplementationPlan) -> str:
    """Return an id for a new task: the next number in the most common form of the plan, such as task-004."""
    plain = (task.id for task in plan.tasks if len(task.id) < MAX_ID and not odd_id(task.id))
    numbered = [found.groups() for id_ in plain if (found := re.fullmatch(_NUMBERED, id_))]
    stems = Counter(stem for stem, _ in numbered)
    # The form of a split task's parts, such as task-004-1, is not used for new tasks.
    whole = [stem for stem in stems if not any(map(str.isdigit, stem))]
    stem = max(whole or stems, key=stems.__getitem__, default="task-")
    numbers = [number for other, number in numbered if other == stem] or ["000"]
    taken = plan.taken_ids()
    width, start = max(map(len, numbers)), max(map(int, numbers)) + 1
    candidates = (f"{stem}{number:0{width}}" for number in count(start))
    return next(task_id for task_id in candidates if task_id not in taken)


def complete_ids(tasks: Iterable[Task]) -> frozenset[str]:
    return frozenset(task.id for task in tasks if task.status is TaskStatus.COMPLETE)


def in_order(tasks: Iterable[Task]) -> list[Task]:
    left = (task for task in tasks if task.status is not TaskStatus.COMPLETE)
    return sorted(left, key=lambda task: task.priority)


def plan_size(tasks: Iterable[Task]) -> str:
    left = in_order(tasks)
    tokens = sum(t.estimated_tokens or 0 for t in left)
    return f"{plural(len(left), 'task')}, about {tokens:,} tokens"


def why_chosen(plan: ImplementationPlan, task: Task) -> str:
    """Return why the selection rule picked `task`, in words."""
    ready = plan.ready()
    if len(ready) <= 1:
        return f"priority {task.priority}, the only task that is ready"
    ties = sum(1 for other in ready if other.priority == task.priority)
    tie = "" if ties == 1 else ", first in the plan"
    return f"priority {task.priority}, the highest of {len(ready)} ready tasks{tie}"


def work_order(tasks: Iterable[Task]) -> list[Task]:
    """Return the tasks in the order in which the loop would work on them.

    Tasks in a cycle, or that depend on a missing task, come last.
    """
    every = list(tasks)
    place = {task.id: (task.priority, at) for at, task in enumerate(every)}
    waits = {task.id: len(set(task.dependencies)) for task in every}
    waiting = needing(every)
    free = [place[task.id] for task in every if not waits[task.id]]
    heapify(free)
    stuck = sorted((place[task.id] for task in every), reverse=True)
    order: list[Task] = []
    seen: set[str] = set()
    while stuck:
        task = every[(heappop(free) if free else stuck.pop())[1]]
        if task.id in seen:
            continue
        seen.add(task.id)
        order.append(task)
        for other in waiting.get(task.id, ()):
            waits[other] -= 1
            if not waits[other]:
                heappush(free, place[other])
    return order


def needing(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return for each id the ids of the tasks that depend on it."""
    waiting: dict[str, list[str]] = {}
    for task in tasks:
        for dep in dict.fromkeys(task.dependencies):
            waiting.setdefault(dep, []).append(task.id)
    return waiting


def open_order(tasks: Iterable[Task]) -> list[Task]:
    """Return the open tasks in work order; dependencies on complete tasks are satisfied."""
    every = list(tasks)
    done = complete_ids(every)
    left = {task.id: task for task in every if task.id not in done}
    bare = (
        task.model_copy(
            update={"dependencies": tuple(d for d in task.dependencies if d not in done)}
        )
        for task in left.values()
    )
    return [left[task.id] for task in work_order(bare)]


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
