"""A dialog that appears by itself: for a moment it takes no keys that were meant for something else."""

from datetime import datetime, timedelta
from typing import TypeVar

from ralph_tui.tui.screens.dialog import Dialog

Answer = TypeVar("Answer")

GRACE = timedelta(seconds=0.5)
"""How long keys are ignored after the dialog appeared."""


class WaitingDialog(Dialog[Answer]):
    """Every one of its keys is an action, and no action is taken before its time."""

    def __init__(self) -> None:
        """Nothing has appeared yet."""
        super().__init__()
        self._appeared: datetime | None = None

    def on_mount(self) -> None:
        """The moment from which the time counts."""
        self._appeared = self.app.clock()

    @property
    def awake(self) -> bool:
        """Whether keys count; a clock that was set back does not lock the dialog."""
        if self._appeared is None:
            return False
        since = self.app.clock() - self._appeared
        return not timedelta() <= since < GRACE

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing happens before its time."""
        del action, parameters
        return self.awake
