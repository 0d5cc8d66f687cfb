"""Detect events that repeat what is known."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.present.text.status_labels import task_word

_BEGUN = "in progress"
"""Shown by the iteration's heading."""


class Deduplicator:
    """Remembers the last shown state of the breaker and of every task."""

    def __init__(self) -> None:
        self._breaker = CircuitBreaker()
        self._task_states: dict[str, str] = {}
        self._unreadable = False

    def is_news(self, event: ev.Event) -> bool:
        if isinstance(event, ev.Standing):
            self._breaker = event.breaker
            again, self._unreadable = self._unreadable, False
            return again or isinstance(event, ev.LoopStarted)
        if isinstance(event, ev.ProjectUnreadable | ev.LoopFound):
            self._unreadable = isinstance(event, ev.ProjectUnreadable)
        elif isinstance(event, ev.PlanLoaded):
            self._task_states = {task.id: task_word(task) for task in event.tasks}
        elif isinstance(event, ev.TaskChanged):
            known, now = self._task_states.get(event.task.id), task_word(event.task)
            self._task_states[event.task.id] = now
            return now not in (known, _BEGUN)
        elif isinstance(event, ev.BreakerChanged):
            before, self._breaker = self._breaker, event.breaker
            return before.state is not event.breaker.state or bool(
                increased_counters(before, event.breaker)
            )
        return True


def increased_counters(before: CircuitBreaker, after: CircuitBreaker) -> tuple[str, ...]:
    """Return the names of the counters that went up, except for the cost, which always does."""
    counts = {signal.name: signal.count for signal in before.signals()}
    return tuple(
        signal.name
        for signal in after.signals()
        if signal.name != "cost" and signal.count > counts[signal.name]
    )
