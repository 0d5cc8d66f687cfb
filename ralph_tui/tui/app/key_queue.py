"""Holds keys typed before their target is ready and delivers them in order, so that none runs a command by mistake.

A key that opens a screen or moves the focus may be followed at once by keys meant for the new screen or field, while
the focus moves a message or two later. Those keys wait. So do letters after a key that changes a field, because
Textual runs bindings one message later than it inserts letters. While one screen is about to open, no other command
may open a second one above it.
"""

import re
from collections.abc import Callable, Coroutine

from textual import events
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, TextArea
from textual.worker import Worker

from ralph_tui.tui.commands.command import Command, Leads
from ralph_tui.tui.commands.registry import LEADS
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.terminal.frozen_background import FrozenBackground

HOLD_SECONDS = 2.0
"""Longest time that keys wait. After that a text box gets them, and otherwise they are dropped, because they could
run something else."""

_COMMAND = re.compile(r"(?:app\.)?(?:invoke|change)\('(\w+)'\)")
_ACTIONS = {
    "search": Leads.FIELD,
    "decide": Leads.FIELD,
    "command_palette": Leads.FIELD,
    **dict.fromkeys(("leave", "close", "cancel", "pick", "mark", "accept"), Leads.PLACE),
    **dict.fromkeys(("app.focus_next", "app.focus_previous"), Leads.PLACE),
}
"""Where those actions of dialogs, pages and Textual lead that are not commands."""


class KeyQueue:
    """Delivers keys to the app one after the other."""

    def __init__(
        self, app: Host, deliver: Callable[[events.Event], Coroutine[None, None, None]]
    ) -> None:
        self._app = app
        self._deliver = deliver
        self._held: list[events.Key | events.Paste] = []
        self._leads = Leads.NOWHERE
        """Where the leader's command leads; NOWHERE when no keys wait."""
        self._leader: events.Key | None = None
        """The key that the held keys wait for."""
        self._leader_done = False
        self._leader_screen: Screen[object] | None = None
        self._workers_before: frozenset[Worker[object]] = frozenset()
        self._opened_at: float | None = None
        """When the screen that keys wait for appeared."""
        self._timeout: Timer | None = None
        self._opening: Worker[None] | None = None
        """The command whose dialog is about to open."""

    def screen_changed(self) -> None:
        self._opening = None
        self.check()

    def may_begin(self, command: Command) -> bool:
        opening = self._opening
        return not command.leads.opens or opening is None or opening.is_finished

    def track(self, command: Command, work: Worker[None]) -> None:
        if command.leads.opens:
            self._opening = work

    async def take(self, event: events.Event) -> None:
        """Deliver an event, or hold a key or paste that was typed ahead."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await self._deliver(event)
        elif self._leads is not Leads.NOWHERE:
            self._held.append(event)
        else:
            leads = self._leads_to(event) if isinstance(event, events.Key) else Leads.NOWHERE
            waits = leads is not Leads.NOWHERE
            if waits and isinstance(event, events.Key):
                self._leads, self._leader, self._leader_done = leads, event, False
                self._leader_screen = self._app.screen
                self._workers_before = frozenset(self._app.workers)
                self._timeout = self._app.set_timer(HOLD_SECONDS, self._time_out)
            focused = self._app.focused
            await self._deliver(event)
            if waits and isinstance(event, events.Key) and isinstance(focused, Input | TextArea):
                # Behind the key in the field's queue: a key that the field itself took leads nowhere.
                focused.call_later(self._finish_in_field, event)
            if waits and not event.is_forwarded:  # no widget took the key: the app has handled it
                self._finish_leader()

    def key_unhandled(self, event: events.Key) -> None:
        if event is self._leader:
            self._app.call_later(self._finish_leader)

    def _leads_to(self, event: events.Key) -> Leads:
        """Return where this key's command leads; in a field, every key except a letter leads to the field."""
        focused = self._app.focused
        if focused is not None and focused.check_consume_key(event.key, event.character):
            return Leads.NOWHERE
        bound = self._app.screen.active_bindings.get(event.key)
        if bound is None or not bound.enabled:
            return Leads.NOWHERE
        action = bound.binding.action
        found = _COMMAND.fullmatch(action)
        named = LEADS.get(found[1]) if found else _ACTIONS.get(action.partition("(")[0])
        if named is None or named is Leads.NOWHERE:
            return Leads.FIELD if isinstance(focused, Input | TextArea) else Leads.NOWHERE
        return named

    def _finish_in_field(self, event: events.Key) -> None:
        if event is self._leader and (event._stop_propagation or event._no_default_action):  # noqa: SLF001 - Textual tells nobody else
            self._finish_leader()

    def _finish_leader(self) -> None:
        self._leader_done = True
        self.check()

    def check(self) -> None:
        """Release the held keys if the screen or the work they wait for is ready."""
        if self._leads is Leads.NOWHERE or not self._leader_done:
            return
        app = self._app
        if app.screen is not self._leader_screen:
            self._opened_at = self._opened_at or Message().time
            # Once drawn, the screen has requested the focus, and this call comes after that request.
            app.screen.call_after_refresh(app.call_later, self._release, self._leader)
        elif not any(
            work.group.startswith("command-") and not work.is_finished
            for work in app.workers
            if work not in self._workers_before
        ):
            app.call_later(self._release, self._leader)

    async def _release(self, leader: events.Key) -> None:
        if leader is not self._leader:
            return
        leads, held, opened = self._leads, self._held, self._opened_at
        if opened is not None and isinstance(self._app.screen, FrozenBackground):
            # On a busy machine a dialog may be drawn and answered before the queue learns that it has opened.
            opened = min(opened, self._app.screen.drawn_at)
        self._reset()
        if not isinstance(self._app.focused, Input | TextArea):
            if opened is not None:  # a repeat of the leader would close or answer what it opened
                held = [e for e in held if not isinstance(e, events.Key) or e.key != leader.key]
            if not leads.keeps_keys:  # a dialog may not be answered before it is visible
                held = [e for e in held if opened is not None and e.time >= opened]
        for event in held:
            await self.take(event)

    async def _time_out(self) -> None:
        is_typed = isinstance(self._app.focused, Input | TextArea)  # and runs nothing there
        if (self._opened_at is not None or is_typed) and self._leader is not None:
            await self._release(self._leader)
        else:
            self._reset()

    def _reset(self) -> None:
        if self._timeout is not None:
            self._timeout.stop()
        self._leads, self._leader = Leads.NOWHERE, None
        self._timeout = self._opened_at = None
        self._held = []
