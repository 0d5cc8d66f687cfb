"""A dialog that opens automatically: for a moment it ignores keys, which were meant for something else.

Where an auto-responder answers for the person, the dialog shows when; any key takes over.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import TypeVar

from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.formatting import duration
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.tui.screens.dialogs.dialog import Dialog

Answer = TypeVar("Answer")

GRACE = timedelta(seconds=0.5)
"""Seconds after it opened in which keys are ignored."""

TICK_SECONDS = 0.25

SETTLED = {
    "": "It is not asked any more.",
    "demo": "The demo answered.",
    "cool-down": "The cool-down is over: one iteration runs.",
}
"""How answers by others than the person are called."""

DEPUTY = "{}: the demo answers in {}, unless you press a key"


class AutoDialog(Dialog[Answer]):
    """Runs no action before its time; each of its keys is an action."""

    def __init__(self) -> None:
        """Start the time when it opens."""
        super().__init__()
        self._appeared: datetime | None = None
        self._heading = self._who = ""

    def on_mount(self) -> None:
        """Note when it opened."""
        self._appeared = self.app.clock()
        if self.app.launch.auto_responder is not None:
            self.set_interval(TICK_SECONDS, self._show_title)
            self._show_title()

    def head(self, frame: Widget, title: str, who: str) -> None:
        """Set the dialog's title, and who it is from."""
        self._heading, self._who = title, who
        frame.border_title = Content(title)

    def _show_title(self) -> None:
        auto_responder = self.app.launch.auto_responder
        left = None if auto_responder is None else auto_responder.seconds_left
        title = self._heading if left is None else DEPUTY.format(self._who, duration(ceil(left)))
        self.query_one(".dialog").border_title = Content(title)

    def clicked_beside(self) -> None:
        """Stay open: the click may only have been for the terminal's window."""

    def on_key(self) -> None:
        """Let the person take over."""
        self._keep()

    def on_mouse_down(self) -> None:
        """Let the person take over."""
        self._keep()

    def on_mouse_scroll_down(self) -> None:
        """Let the person take over."""
        self._keep()

    def on_mouse_scroll_up(self) -> None:
        """Let the person take over."""
        self._keep()

    def _keep(self) -> None:
        auto_responder = self.app.launch.auto_responder
        if auto_responder is not None:
            auto_responder.stand_back()
            self._show_title()

    def settled(self, view: LoopView) -> None:
        """Say why there is nothing to answer any more, and close."""
        self.app.say(SETTLED.get(view.settled_by, "Answered elsewhere."))
        self.dismiss(None)

    @property
    def awake(self) -> bool:
        """Whether keys count; a clock that was set back does not lock the dialog."""
        if self._appeared is None:
            return False
        since = self.app.clock() - self._appeared
        return not timedelta() <= since < GRACE

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Block actions before their time."""
        del action, parameters
        return self.awake
