"""Find the problems that make a plan unworkable, before money is spent: ids, dependencies, cycles. Pure functions."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from ralph_tui.domain.base import Model
from ralph_tui.domain.sanitize import inert

MAX_ID = 200
"""Maximum length of a task's id, which people type and which is shown in lists and tool calls."""

MOST_CYCLES = 50
"""How many cycles are named, because finding each takes a pass over the plan."""


class PlanProblem(Model):
    """A problem that makes a plan unworkable."""

    kind: Literal["empty_id", "odd_id", "duplicate_id", "unknown_dependency", "cycle"]
    task_id: str
    message: str
    path: tuple[str, ...] = ()


def plan_problems(tasks: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[PlanProblem, ...]:
    """Return all problems of the tasks, which are given as pairs of id and dependencies."""
    known = {task_id for task_id, _ in tasks}
    return (
        *_id_problems(task_id for task_id, _ in tasks),
        *(
            PlanProblem(
                kind="unknown_dependency",
                task_id=task_id,
                message=f"Task {task_id!r} depends on {dep!r}, which is not in the plan.",
                path=(task_id, dep),
            )
            for task_id, dependencies in tasks
            for dep in dependencies
            if dep not in known
        ),
        *_cycle_problems(dict(tasks)),
    )


def _blank(task_id: str) -> bool:
    # `inert` is slow, and most ids are printable.
    return not (task_id if task_id.isprintable() else inert(task_id)).strip()


def odd_id(task_id: str) -> str:
    """Return why an id cannot be typed in a command or a tool call, or an empty string if it can."""
    if len(task_id) > MAX_ID:
        return f"an id of {len(task_id)} characters, more than {MAX_ID}"
    plain = task_id.isprintable() or not set(task_id) & {"\n", "\t"}
    if plain and inert(task_id) == task_id == task_id.strip():
        return ""
    return f"an id that cannot be named ({task_id!r:.80}): spaces around it, line ends, control characters or a key"


def _id_problems(ids: Iterable[str]) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    positions: dict[str, list[int]] = {}
    for number, task_id in enumerate(ids, 1):
        positions.setdefault(task_id, []).append(number)
        wrong = odd_id(task_id)
        if blank := _blank(task_id):
            wrong = f"an id without a visible character ({task_id!r:.80})" if task_id else "no id"
        if wrong:
            kind: Literal["empty_id", "odd_id"] = "empty_id" if blank else "odd_id"
            message = f"Task {number} has {wrong}."
            found.append(PlanProblem(kind=kind, task_id=task_id, message=message))
    for task_id, where in positions.items():
        if len(where) > 1 and not _blank(task_id):
            places = " and ".join(str(n) for n in where)
            message = f"Task id {task_id!r} is used more than once (tasks {places})."
            found.append(PlanProblem(kind="duplicate_id", task_id=task_id, message=message))
    return found


def _cycle_problems(graph: Mapping[str, tuple[str, ...]]) -> list[PlanProblem]:
    """Return each cycle as a path that ends where it began."""
    found: list[PlanProblem] = []
    left = {task_id: list(dict.fromkeys(dependencies)) for task_id, dependencies in graph.items()}
    while len(found) < MOST_CYCLES:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            loop = tuple(reversed(error.args[1]))
            left[loop[0]].remove(loop[1])
            message = f"Tasks depend on each other in a cycle: {' → '.join(loop)}."
            found.append(PlanProblem(kind="cycle", task_id=loop[0], message=message, path=loop))
        else:
            break
    return found
