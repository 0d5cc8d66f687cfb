"""Tell the events of one feature from those of the others, which share the project's journal."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.features import FeaturePast


class FeatureEvents:
    """Decides for one event after the other; a run works on one feature from its start to its end."""

    def __init__(self, past: FeaturePast | None) -> None:
        """Take the events of one feature, or every event.

        What no run began is taken for the plan without a name.
        """
        self._past = past
        self._is_ours = past is None or not past.feature

    def takes(self, event: ev.Event) -> bool:
        """Return whether the next event of the journal is about the feature."""
        if self._past is None:
            return True
        if isinstance(event, ev.WorkUndone):  # between the runs
            return self._past.includes(event.feature, event.time)
        if isinstance(event, ev.LoopStarted):
            self._is_ours = self._past.includes(event.feature, event.time)
        return self._is_ours
