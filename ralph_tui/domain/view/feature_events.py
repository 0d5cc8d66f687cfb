"""Select the events of one feature from the journal that all features of a project share."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.features import FeatureFilter


class FeatureEvents:
    """Decides for each event, in the journal's order, whether it belongs to the feature.

    A run works on a single feature, so the start of a run decides for all its events.
    """

    def __init__(self, past: FeatureFilter | None) -> None:
        """Select the events of one feature, or all events if `past` is None.

        Events before the first start of a run belong to the plan without a name.
        """
        self._past = past
        self._is_ours = past is None or not past.feature

    def takes(self, event: ev.Event) -> bool:
        if self._past is None:
            return True
        if isinstance(event, ev.WorkUndone):  # happens between runs
            return self._past.includes(event.feature, event.time)
        if isinstance(event, ev.LoopStarted):
            self._is_ours = self._past.includes(event.feature, event.time)
        return self._is_ours
