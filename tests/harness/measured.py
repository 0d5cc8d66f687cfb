"""The success metrics of events, counted at once."""

from collections.abc import Iterable

from ralph_tui.domain.events import Event
from ralph_tui.domain.view.metrics import Meter, Metric, metrics_of


def measure(events: Iterable[Event]) -> tuple[Metric, ...]:
    meter = Meter()
    for event in events:
        meter.feed(event)
    return metrics_of(meter)
