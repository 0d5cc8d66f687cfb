"""Tells what of a loop's bookkeeping is new, so that repetitions stay out of the stream and the log."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.breaker import CircuitBreaker

_KNOWN = frozenset(
    {
        *(ev.LoopStarted, ev.PlanLoaded, ev.TaskChanged, ev.BreakerChanged),
        *(ev.ProjectRead, ev.ProjectUnreadable, ev.LoopFound),
    }
)
"""Events that may repeat what is known."""


class Deduplicator:
    """Remembers the breaker and the state of every task as they were last shown."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._breaker = CircuitBreaker()
        self._stands: dict[str, tuple[TaskStatus, bool]] = {}
        self._unreadable = False

    def is_news(self, event: ev.Event) -> bool:
        """Tell whether an event says something new; events that cannot repeat always do."""
        if type(event) not in _KNOWN:
            return True
        if isinstance(event, ev.Standing):
            self._breaker = event.breaker
            again, self._unreadable = self._unreadable, False
            return again or isinstance(event, ev.LoopStarted)
        if isinstance(event, ev.ProjectUnreadable | ev.LoopFound):
            self._unreadable = isinstance(event, ev.ProjectUnreadable)
        elif isinstance(event, ev.PlanLoaded):
            self._stands = {task.id: (task.status, task.is_held) for task in event.tasks}
        elif isinstance(event, ev.TaskChanged):
            return self._task(event.task)
        elif isinstance(event, ev.BreakerChanged):
            before, self._breaker = self._breaker, event.breaker
            return before.state is not event.breaker.state or bool(risen(before, event.breaker))
        return True

    def _task(self, task: Task) -> bool:
        known, now = self._stands.get(task.id), (task.status, task.is_held)
        self._stands[task.id] = now
        begins = task.status is TaskStatus.IN_PROGRESS  # the heading of the iteration says so
        return known != now and not begins


def risen(before: CircuitBreaker, after: CircuitBreaker) -> tuple[str, ...]:
    """Name the counters that went up; money always does, so it is left out."""
    counts = {signal.name: signal.count for signal in before.signals()}
    return tuple(
        signal.name
        for signal in after.signals()
        if signal.name != "cost" and signal.count > counts[signal.name]
    )
