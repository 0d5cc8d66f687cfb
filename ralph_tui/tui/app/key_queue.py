"""Holds keys that are typed before what they are meant for is there, in their order, so that none is taken for a command.

A key that opens something or moves the focus is followed by the keys that are meant for what it opens. They
come in the same instant, and the focus a message or two later; so they wait. So do letters after a key that
changes the field: Textual runs its bindings a message later than it takes letters. Of what opens something, however it
is asked for, only the first does: a second dialog would lie over the first unasked.
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

PATIENCE_SECONDS = 2.0
"""The longest that keys wait. After that they are dropped, because they would mean something else."""

_COMMAND = re.compile(r"(?:app\.)?(?:invoke|change)\('(\w+)'\)")
_ACTIONS = {
    "search": Leads.FIELD,
    "decide": Leads.FIELD,
    "command_palette": Leads.FIELD,
    **dict.fromkeys(("leave", "close", "cancel", "pick", "mark", "accept"), Leads.PLACE),
    **dict.fromkeys(("app.focus_next", "app.focus_previous"), Leads.PLACE),
}
"""Where the actions of dialogs, pages and Textual lead that are not commands."""


class KeyQueue:
    """Hands the app one key after the other."""

    def __init__(
        self, app: Host, deliver: Callable[[events.Event], Coroutine[None, None, None]]
    ) -> None:
        """Wait for nothing.

        Args:
            app: Whose keys are held.
            deliver: Does with an event what Textual does.
        """
        self._app = app
        self._deliver = deliver
        self._held: list[events.Key | events.Paste] = []
        self._leads = Leads.NOWHERE
        """Where the command leads that keys wait for; NOWHERE when none wait."""
        self._leader: events.Key | None = None
        self._leader_done = False
        self._led_from: Screen[object] | None = None
        self._works_before: frozenset[Worker[object]] = frozenset()
        self._opened_at: float | None = None
        """When what they wait for appeared."""
        self._patience: Timer | None = None
        self._opening: Worker[None] | None = None
        """The command whose dialog is about to open."""

    def screen_changed(self) -> None:
        """Check whether the new screen is what keys wait for."""
        self._opening = None
        self.check()

    def may_begin(self, command: Command) -> bool:
        """Return whether a command may begin: while one screen is about to open, no second one does, not even by a click."""
        opening = self._opening
        return not command.leads.opens or opening is None or opening.is_finished

    def began(self, command: Command, work: Worker[None]) -> None:
        """Remember the work of a command that may open something."""
        if command.leads.opens:
            self._opening = work

    async def take(self, event: events.Event) -> None:
        """Deliver an event, or hold it when it is typed ahead."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await self._deliver(event)
        elif self._leads is not Leads.NOWHERE:
            self._held.append(event)
        else:
            leads = self._leads_to(event) if isinstance(event, events.Key) else Leads.NOWHERE
            waits = leads is not Leads.NOWHERE
            if waits and isinstance(event, events.Key):
                self._begin(leads, event)
            await self._deliver(event)
            if waits and not event.is_forwarded:  # it was for the app itself
                self._is_done()

    def key_is_nobodys(self, event: events.Key) -> None:
        """Note a key that no widget wanted: its command begins with this message."""
        if event is self._leader:
            self._app.call_later(self._is_done)

    def _leads_to(self, event: events.Key) -> Leads:
        """Return where this key's command leads; in a field, every key but a letter leads to the field."""
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

    def _begin(self, leads: Leads, event: events.Key) -> None:
        self._leads, self._leader, self._leader_done = leads, event, False
        self._led_from = self._app.screen
        self._works_before = frozenset(self._app.workers)
        self._patience = self._app.set_timer(PATIENCE_SECONDS, self._wait_no_longer)

    def _is_done(self) -> None:
        self._leader_done = True
        self.check()

    def check(self) -> None:
        """Release the held keys if what they wait for is there."""
        if self._leads is Leads.NOWHERE or not self._leader_done:
            return
        app = self._app
        if app.screen is not self._led_from:
            self._opened_at = self._opened_at or Message().time
            # Once it is drawn it has asked for the focus, and what is asked of the app later comes later.
            app.screen.call_after_refresh(app.call_later, self._let_go, self._leader)
        elif not any(
            work.group.startswith("command-") and not work.is_finished
            for work in app.workers
            if work not in self._works_before
        ):
            app.call_later(self._let_go, self._leader)

    async def _let_go(self, leader: events.Key) -> None:
        """Deliver the held keys as if they were typed now."""
        if leader is not self._leader:
            return
        leads, held, opened = self._leads, self._held, self._opened_at
        if opened is not None and isinstance(self._app.screen, FrozenBackground):
            # On a busy machine it is drawn, and answered, before the queue hears that it has opened.
            opened = min(opened, self._app.screen.drawn_at)
        self._forget()
        if not isinstance(self._app.focused, Input | TextArea):
            if opened is not None:  # a key that bounces would close, or answer, what it opened
                held = [e for e in held if not isinstance(e, events.Key) or e.key != leader.key]
            if not leads.keeps_keys:  # what asks is not answered before it is there
                held = [e for e in held if opened is not None and e.time >= opened]
        for event in held:
            await self.take(event)

    async def _wait_no_longer(self) -> None:
        """Drop the held keys, unless what they wait for has opened by now."""
        if self._opened_at is not None and self._leader is not None:
            await self._let_go(self._leader)
        else:
            self._forget()

    def _forget(self) -> None:
        """Drop the held keys and wait for nothing."""
        if self._patience is not None:
            self._patience.stop()
        self._leads, self._leader = Leads.NOWHERE, None
        self._patience = self._opened_at = None
        self._held = []
