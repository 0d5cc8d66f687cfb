"""Attribute changes of the plan on disk to the person, when they were made through this process.

Everybody who follows the project sees a change on disk, and cannot see who made it. Here it is noted before
it is written, so that it is never told as somebody else's.
"""

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.run.breaker import CircuitBreaker

if TYPE_CHECKING:
    from ralph_tui.domain.events import Event

CHANGED_ON_DISK = "changed on disk"
"""Why a task is another, as far as can be seen from its file."""

KEPT = 64
"""Changes that are remembered; each comes back within a second."""


class Attribution:
    """Remembers the latest changes of a plan made here, and the words for each."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._tasks: deque[tuple[Task, str]] = deque(maxlen=KEPT)
        self._orders: deque[tuple[str, ...]] = deque(maxlen=KEPT)

    def note(self, before: ImplementationPlan, after: ImplementationPlan, words: str) -> None:
        """Note a change about to be written; `words` describe what happens to each changed task."""
        known = {task.id: task for task in before.tasks}
        pairs = ((known.get(task.id), task) for task in after.tasks)
        changed = [task for was, task in pairs if was is not task and was != task]
        self._tasks.extend((task, words) for task in changed)
        self._orders.append(tuple(task.id for task in after.tasks))

    def told(self, event: "Event") -> "Event":
        """Return the event, naming the person as the author of what was done here."""
        # Only a screen needs the events, and every command has the controls.
        from ralph_tui.domain.events import PlanLoaded, TaskChanged

        if isinstance(event, TaskChanged) and event.reason == CHANGED_ON_DISK:
            found = next((done for done in tuple(self._tasks) if done[0] == event.task), None)
            if found is None:
                return event
            with suppress(ValueError):  # newer ones have pushed it out meanwhile
                self._tasks.remove(found)
            return event.model_copy(update={"reason": found[1]})
        if isinstance(event, PlanLoaded) and event.source == "disk":
            order = tuple(task.id for task in event.tasks)
            if order not in tuple(self._orders):
                return event
            while self._orders.popleft() != order:
                pass  # what was written in between was not seen, and is reported with this
            return event.model_copy(update={"source": "here"})
        return event


def breaker_words(before: CircuitBreaker, after: CircuitBreaker) -> str:
    """Say why the breaker changed on disk: the reason of a reset; empty for a new cost limit, which is reported elsewhere."""
    if after == before.reset(after.reset_reason):
        return f"reset by hand: {after.reset_reason}"
    raised = before.model_copy(update={"max_cost_usd": after.max_cost_usd})
    return "" if after == raised else CHANGED_ON_DISK
