"""Keys typed faster than what they are for is there: held in their order until it is, and never taken for commands.

A key that opens something or moves the focus is followed by the keys that are meant for what it opens. They
come in the same instant, and the focus a message or two later; so they wait. So do letters after a key that
changes the field: Textual runs its bindings a message later than it takes letters. Of what opens something, however it
is asked for, only the first does: a second dialog would lie over the first unasked.
"""

import re

from textual import events
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, TextArea
from textual.worker import Worker

from ralph_tui.engine.launch import Launch
from ralph_tui.tui.app.refresh import Showing
from ralph_tui.tui.host.widget_host import Clock, utc_now

ASKS = frozenset(
    {
        *("answer", "request", "stop", "inject", "urge", "quit"),
        *("skip", "model", "edit", "add", "split", "drop"),
    }
)
"""Commands that ask for something, over the screen."""

SHOWS = frozenset(
    {
        *("detail", "plan", "help"),
        *("iterations", "history", "memory", "why", "settings"),
    }
)
"""Commands that show something, over the screen."""

OPENS = ASKS | SHOWS | {"jump"}
"""Commands that put something over the screen, one at a time."""

GOES = SHOWS | frozenset(
    {
        *("open", "leave", "close", "cancel"),
        *("tasks", "activity", "status", "next_pane", "previous_pane"),
        *("hold", "retry"),
        *("pick", "mark", "accept"),
    }
)
"""Commands after which keys go on being commands: of the place that was gone to, or of the next task."""

LEADS = OPENS | GOES | {"search", "palette", "reset_breaker", "export", "decide"}
"""Commands that later keys wait for. After one that goes nowhere only a field to type in gets them."""

PATIENCE_SECONDS = 2.0
"""Longest that keys wait for what may not come; then they are forgotten, for they would mean something else."""

_COMMAND = re.compile(r"(?:app\.)?(?:invoke|change)\('(\w+)'\)")
_ACTIONS = {
    **{name: name for name in ("search", "leave", "close", "cancel")},
    **{name: name for name in ("pick", "mark", "accept", "decide")},
    "command_palette": "palette",
    "app.focus_next": "next_pane",
    "app.focus_previous": "previous_pane",
}
"""Actions of dialogs, pages and Textual that are no commands of ours by name."""

IN_FIELD = "in_field"
"""What every other key does that means something in a field but is no letter of it."""


class InOrder(Showing):
    """Takes one key after the other."""

    def __init__(self, launch: Launch, clock: Clock = utc_now) -> None:
        """Nothing is waited for."""
        super().__init__(launch, clock)
        self._held: list[events.Key | events.Paste] = []
        self._led = ""
        """The command that keys wait for; empty when none do."""
        self._leader: events.Key | None = None
        self._leader_done = False
        self._led_from: Screen[object] | None = None
        self._works_before: frozenset[Worker[object]] = frozenset()
        self._opened_at: float | None = None
        """When it began to be there."""
        self._patience: Timer | None = None
        self._opening: Worker[None] | None = None
        """The command whose dialog is on its way."""

    def on_mount(self) -> None:
        """Another screen may be what was waited for."""
        self.screen_change_signal.subscribe(self, lambda _: self._is_there())

    def _is_there(self) -> None:
        self._opening = None
        self.work_ended()

    def may_begin(self, name: str) -> bool:
        """Whether this command may: what opens something waits for what is on its way, by a click, too."""
        opening = self._opening
        return name not in OPENS or opening is None or opening.is_finished

    def began(self, name: str, work: Worker[None]) -> None:
        """This command did, and may open something."""
        if name in OPENS:
            self._opening = work

    async def on_event(self, event: events.Event) -> None:
        """Hold what is typed ahead."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self._led:
            self._held.append(event)
        else:
            name = self._leads_to(event) if isinstance(event, events.Key) else ""
            if name and isinstance(event, events.Key):
                self._begin(name, event)
            await super().on_event(event)
            if name and not event.is_forwarded:  # it was for the app itself
                self._is_done()

    def on_key(self, event: events.Key) -> None:
        """A key that nobody below the app wanted: its command begins with this message."""
        if event is self._leader:
            self.call_later(self._is_done)

    def _leads_to(self, event: events.Key) -> str:
        """The command of this key that later keys must wait for; empty for every other key."""
        focused = self.focused
        if focused is not None and focused.check_consume_key(event.key, event.character):
            return ""
        bound = self.screen.active_bindings.get(event.key)
        if bound is None or not bound.enabled:
            return ""
        action = bound.binding.action
        found = _COMMAND.fullmatch(action)
        name = found[1] if found else _ACTIONS.get(action.partition("(")[0], "")
        if name in LEADS:
            return name
        return IN_FIELD if isinstance(focused, Input | TextArea) else ""

    def _begin(self, name: str, event: events.Key) -> None:
        self._led, self._leader, self._leader_done = name, event, False
        self._led_from = self.screen
        self._works_before = frozenset(self.workers)
        self._patience = self.set_timer(PATIENCE_SECONDS, self._forget)

    def _is_done(self) -> None:
        self._leader_done = True
        self.work_ended()

    def work_ended(self) -> None:
        """Whether what keys wait for is there."""
        if not self._led or not self._leader_done:
            return
        if self.screen is not self._led_from:
            self._opened_at = self._opened_at or Message().time
            # Once it is drawn it has asked for the focus, and what is asked of the app later comes later.
            self.screen.call_after_refresh(self.call_later, self._let_go, self._leader)
        elif not any(
            work.group.startswith("command-") and not work.is_finished
            for work in self.workers
            if work not in self._works_before
        ):
            self.call_later(self._let_go, self._leader)

    async def _let_go(self, leader: events.Key) -> None:
        """Hand out what was typed meanwhile, as if it were typed now."""
        if leader is not self._leader:
            return
        name, held, opened = self._led, self._held, self._opened_at
        self._forget()
        if not isinstance(self.focused, Input | TextArea):
            if opened is not None:  # a key that bounces would close, or answer, what it opened
                held = [e for e in held if not isinstance(e, events.Key) or e.key != leader.key]
            if name not in GOES:  # what asks is not answered before it is there
                held = [e for e in held if opened is not None and e.time >= opened]
        for event in held:
            await self.on_event(event)

    def _forget(self) -> None:
        """Nothing is waited for any more."""
        if self._patience is not None:
            self._patience.stop()
        self._led, self._leader, self._patience, self._opened_at = "", None, None, None
        self._held = []
