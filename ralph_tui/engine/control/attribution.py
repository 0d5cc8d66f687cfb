"""Attribute changes of the plan on disk to the person, if this process made them.

A process that follows the project sees that the plan changed on disk, but not who changed it. Changes by the
person are recorded here before they are written, so that they are never attributed to someone else.
"""

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.run.breaker import CircuitBreaker

if TYPE_CHECKING:
    from ralph_tui.domain.events import Event

CHANGED_ON_DISK = "changed on disk"
"""The reason for a task's change when only its file is known."""

KEPT = 64
"""How many changes are remembered; each is seen on disk within a second."""


class Attribution:
    """Remembers the latest changes of a plan made by this process, and a description of each."""

    def __init__(self) -> None:
        self._tasks: deque[tuple[Task, str]] = deque(maxlen=KEPT)
        self._orders: deque[tuple[str, ...]] = deque(maxlen=KEPT)

    def record(self, before: ImplementationPlan, after: ImplementationPlan, words: str) -> None:
        """Record a change before it is written; `words` describe what happened to each changed task."""
        known = {task.id: task for task in before.tasks}
        pairs = ((known.get(task.id), task) for task in after.tasks)
        changed = [task for was, task in pairs if was is not task and was != task]
        self._tasks.extend((task, words) for task in changed)
        self._orders.append(tuple(task.id for task in after.tasks))

    def attributed(self, event: "Event") -> "Event":
        """Return the event, with the person as the author if this process made the change."""
        # Imported here because every command has the controls, but only a screen needs the events.
        from ralph_tui.domain.events import PlanLoaded, TaskChanged

        if isinstance(event, TaskChanged) and event.reason == CHANGED_ON_DISK:
            found = next((done for done in tuple(self._tasks) if done[0] == event.task), None)
            if found is None:
                return event
            with suppress(ValueError):  # another thread may have added newer changes and dropped it
                self._tasks.remove(found)
            return event.model_copy(update={"reason": found[1]})
        if isinstance(event, PlanLoaded) and event.source == "disk":
            order = tuple(task.id for task in event.tasks)
            if order not in tuple(self._orders):
                return event
            while self._orders.popleft() != order:
                pass  # the versions in between were not seen, and are reported with this one
            return event.model_copy(update={"source": "here"})
        return event


def breaker_words(before: CircuitBreaker, after: CircuitBreaker) -> str:
    """Return why the breaker changed on disk; empty for a new cost limit, which is reported elsewhere."""
    if after == before.reset(after.reset_reason):
        return f"reset by hand: {after.reset_reason}"
    raised = before.model_copy(update={"max_cost_usd": after.max_cost_usd})
    return "" if after == raised else CHANGED_ON_DISK
