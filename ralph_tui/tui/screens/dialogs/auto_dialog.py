"""A dialog that opens automatically, and ignores keys until the person has paused.

If an auto-responder answers for the person, the dialog shows when; any key takes over.
"""

from datetime import datetime, timedelta
from math import ceil
from typing import TypeVar

from textual import events, on
from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.formatting import duration
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.tui.screens.dialogs.dialog import Dialog

Answer = TypeVar("Answer")

GRACE = timedelta(seconds=0.5)

PAUSE = timedelta(seconds=1.5)
"""Time without a key press before the first key is accepted, so that typing meant for another screen decides nothing."""

_ALWAYS = frozenset({"ctrl+c", "ctrl+q"})
"""Keys that lead out of ralph and decide nothing."""

TICK_SECONDS = 0.25

ANSWERED_BY = {
    "": "An answer is no longer needed.",
    "demo": "Answered automatically (demo).",
    "cool-down": "The cool-down is over. Retrying with one iteration.",
}
"""The message when somebody or something other than the person has answered."""

AUTO_TITLE = "{}: auto-answering in {}. Press any key to take over."


class AutoDialog(Dialog[Answer]):
    """Runs no action during the grace period; every key of the dialog is an action."""

    CLOSES_ON_CLICK = False  # the click may only have focused the terminal's window

    def __init__(self) -> None:
        super().__init__()
        self._opened_at: datetime | None = None
        self._has_accepted = False
        self._heading = self._asker = ""

    def on_mount(self) -> None:
        self._opened_at = self.app.clock()
        if self.app.launch.auto_responder is not None:
            self.set_interval(TICK_SECONDS, self._show_title)
            self._show_title()

    def set_title(self, frame: Widget, title: str, who: str) -> None:
        self._heading, self._asker = title, who
        frame.border_title = Content(title)

    def _show_title(self) -> None:
        auto_responder = self.app.launch.auto_responder
        left = None if auto_responder is None else auto_responder.seconds_left
        title = (
            self._heading if left is None else AUTO_TITLE.format(self._asker, duration(ceil(left)))
        )
        frame, content = self.query_one(".dialog"), Content(title)
        if frame.border_title != content.markup:  # setting a title draws the whole dialog again
            frame.border_title = content

    @on(events.Key)
    @on(events.MouseDown)
    @on(events.MouseScrollDown)
    @on(events.MouseScrollUp)
    def _take_over(self) -> None:
        auto_responder = self.app.launch.auto_responder
        if auto_responder is not None:
            auto_responder.yield_to_person()
            self._show_title()

    def close_answered(self, view: LoopView) -> None:
        self.app.show_message(ANSWERED_BY.get(view.settled_by, "Answered elsewhere."))
        self.dismiss(None)

    @property
    def accepts_keys(self) -> bool:
        """Whether keys are accepted; a clock that was set back does not lock the dialog."""
        if self._opened_at is None:
            return False
        now, last = self.app.clock(), self.app.last_key_at
        is_typing = last is not None and timedelta() <= now - last < PAUSE
        has_just_opened = timedelta() <= now - self._opened_at < GRACE
        return self._has_accepted or not (is_typing or has_just_opened)

    def ignores(self, event: events.Key) -> bool:
        """Return whether a key is dropped, which restarts the pause."""
        if event.key in _ALWAYS:
            return False
        if self.accepts_keys:
            self._has_accepted = True
            return False
        self._take_over()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Block actions during the grace period."""
        del action, parameters
        return self.accepts_keys
