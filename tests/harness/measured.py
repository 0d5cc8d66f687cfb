"""The success metrics of events, counted at once."""

from collections.abc import Iterable

from ralph_tui.domain.events import Event
from ralph_tui.domain.view.metrics import Metric, metrics_of
from ralph_tui.domain.view.run_history import RunHistoryBuilder


def measure(events: Iterable[Event]) -> tuple[Metric, ...]:
    builder = RunHistoryBuilder()
    for event in events:
        builder.feed(0, 0, event)
    return metrics_of(builder.chronicle)
