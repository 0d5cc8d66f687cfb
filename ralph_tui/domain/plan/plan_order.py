"""The order in which a loop would work a plan, including tasks that still wait."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from ralph_tui.domain.plan.plan import Task, TaskStatus


def work_order(tasks: Iterable[Task]) -> list[Task]:
    """Return the order in which the loop would take the tasks.

    Tasks in a cycle, or that wait for a missing one, come last.
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
    """Return, by id, which tasks wait for it."""
    waiting: dict[str, list[str]] = {}
    for task in tasks:
        for dep in dict.fromkeys(task.dependencies):
            waiting.setdefault(dep, []).append(task.id)
    return waiting


def open_order(tasks: Iterable[Task]) -> list[Task]:
    """Return the same for open tasks; complete ones block nobody."""
    every = list(tasks)
    done = {task.id for task in every if task.status is TaskStatus.COMPLETE}
    left = {task.id: task for task in every if task.id not in done}
    bare = (
        task.model_copy(
            update={"dependencies": tuple(d for d in task.dependencies if d not in done)}
        )
        for task in left.values()
    )
    return [left[task.id] for task in work_order(bare)]
