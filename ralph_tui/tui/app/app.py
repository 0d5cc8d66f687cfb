"""The app: assembles its parts and passes Textual's events to them; decides nothing about the loop.

RalphApp
├── ScreenLifecycle   starts and stops, runs the loop or watches the project
│   ├── Refresher     drains events from the bridge and shows them
│   └── Handlers      what each command does
├── KeyQueue          holds keys typed before the screen they are meant for has opened
├── Bridge            runs or watches the loop, reduces its events to a view
└── Dashboard         shows the view   (dialogs and TooSmall cover it)
"""

import re
import sys
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, TextArea
from textual.worker import Worker

from ralph_tui.domain.errors import ExitCode
from ralph_tui.engine.control.launch import Launch
from ralph_tui.store.crash_reports import write_report
from ralph_tui.store.feature_choice import layout_of, pinned_feature
from ralph_tui.tui.app.lifecycle import ScreenLifecycle
from ralph_tui.tui.commands.command import Command, Leads
from ralph_tui.tui.commands.registry import BY_NAME, LEADS, bindings
from ralph_tui.tui.host.widget_host import OLD_TITLE, Clock, Host, do, error_line, utc_now
from ralph_tui.tui.screens.dashboard import Dashboard, TooSmall, is_too_small
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.terminal.driver import LONGEST_LINE, line_of, with_one_reader
from ralph_tui.tui.terminal.frozen_background import FrozenBackground
from ralph_tui.tui.terminal.garbage_collection import manual_collection
from ralph_tui.tui.terminal.private import end_at_bug
from ralph_tui.tui.terminal.writer import quiet_stderr
from ralph_tui.tui.theme.themes import RALPH_DARK, SHEETS, THEMES, shown_as

if TYPE_CHECKING:
    from textual.command import Provider

    from ralph_tui.tui.terminal.splash import Splash


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


def _commands() -> "type[Provider]":
    from ralph_tui.tui.screens.dialogs.command_palette import CommandsProvider

    return CommandsProvider


class RalphApp(Host):
    """The full-screen app for one project's loop."""

    TITLE = "ralph"
    CSS_PATH = SHEETS
    COMMANDS: ClassVar = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(),
        Binding("ctrl+z", "suspend_screen", show=False),
    ]
    PAUSE_GC_ON_SCROLL = True

    def __init__(self, launch: Launch, *, autostart: bool = False, clock: Clock = utc_now) -> None:
        """Show the project of `launch`; `autostart` starts the loop after the first paint."""
        super().__init__(launch, clock)
        self.dashboard = Dashboard()
        self.lifecycle = ScreenLifecycle(self, self.dashboard, autostart=autostart)
        self.key_queue = KeyQueue(self, self._deliver)
        self.invoke = self._run_command
        self.watch_again = self.lifecycle.watch_again
        self.work_ended = self.key_queue.check
        end_at_bug(self, self._report_bug)
        self._choose_theme(launch.screen.theme)
        self._warned = False

    def _choose_theme(self, wanted: str) -> None:
        """Choose the theme before the styles are read, because a later change would parse them all twice more."""
        for theme in THEMES:
            self.register_theme(theme)
        if self.no_color:  # otherwise the terminal's own colors would become black on black
            self.set_reactive(App.ansi_color, False)  # noqa: FBT003 - as Textual declares it
        known = wanted if wanted in self.available_themes else RALPH_DARK.name
        self.chosen_theme = shown_as(known, self.console.color_system, no_color=self.no_color)
        chosen = self.available_themes[self.chosen_theme]
        if chosen.dark and not chosen.ansi:  # Textual starts out prepared for these
            self.set_reactive(App.theme, chosen.name)
            self.stylesheet.set_variables(self.get_css_variables())

    def get_driver_class(self) -> type[Driver]:
        return with_one_reader(super().get_driver_class())

    def on_mount(self) -> None:
        """Apply the theme and the keys before anything is painted."""
        self.theme = self.chosen_theme
        self.set_keymap({name: ",".join(keys) for name, keys in self.keymap.items()})
        self.set_class(not self.glyphs.unicode, "-ascii")
        self.push_screen(self.dashboard)

        def screen_changed(_: object) -> None:
            self.call_later(lambda: self._check_size(self.size))
            self.key_queue.screen_changed()

        self.screen_change_signal.subscribe(self, screen_changed)
        self.lifecycle.refresher.start()

    def on_ready(self) -> None:
        """Start after the first paint, and report a theme that does not exist."""
        if self.launch.screen.theme not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            self.report_problem(
                f"Unknown theme {self.launch.screen.theme!r}. Available themes: {known}."
            )
        self.lifecycle.begin()

    # Keys.

    async def on_event(self, event: events.Event) -> None:
        await self.key_queue.take(event)

    async def _deliver(self, event: events.Event) -> None:
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            line = line_of(event.text)
            event.text = line[:LONGEST_LINE]
            if len(line) > LONGEST_LINE:
                self.show_message(
                    f"The text was cut to {LONGEST_LINE:,} characters, the maximum for this field."
                )
        if isinstance(event, events.Key) and not event.is_forwarded:
            ignored = isinstance(self.screen, AutoDialog) and self.screen.ignores(event)
            self.last_key_at = self.clock()
            if ignored:
                return
        self.lifecycle.refresher.press(event)
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        self.key_queue.key_unhandled(event)

    def on_one_reader_gone(self) -> None:
        """Hang up, because a terminal that is not the controlling terminal closes without a signal."""
        self.lifecycle.hang_up()

    # Commands.

    def _run_command(self, name: str) -> None:
        command = BY_NAME[name]
        if isinstance(self.screen, TooSmall) and name != "quit":
            return  # nobody sees what it would do
        if reason := command.disabled(self.command_context()):
            self.show_message(reason)
        elif self.key_queue.may_begin(command):
            work = self.lifecycle.handlers.by_command[name]()
            self.key_queue.track(command, do(self, work, f"command-{name}"))

    def _report_bug(self, error: Exception) -> int:
        path = write_report(error, self.launch.root)
        self.exit_message = (
            f"the screen crashed: {error_line(error)}. This is a bug in ralph. "
            f"All progress is saved in .ralph/. The details are in {path}."
        )
        return ExitCode.ERROR

    async def action_quit(self) -> None:
        """Quit as the command does, so that Textual's own way out also asks."""
        self.action_invoke("quit")

    def action_help_quit(self) -> None:
        """Warn at the first Ctrl+C without a selection, and quit at the second."""
        if self._warned:
            self.action_invoke("quit")
            return
        self._warned = True
        self.set_timer(2.0, lambda: setattr(self, "_warned", False))
        self.show_message("Press ctrl+c again to quit.")

    def action_suspend_screen(self) -> None:
        """Suspend to the shell on Ctrl+Z, unless that would also suspend a loop that runs here."""
        if not self.bridge.running:
            self.action_suspend_process()
            return
        more = (
            " Press {quit} to leave it running in the background."
            if self.launch.continue_in_background
            else ""
        )
        self.show_message(self.keys.said("Suspending the screen would also pause the loop." + more))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Maximize", "Minimize"):
                yield command

    def search_themes(self) -> None:
        from ralph_tui.tui.screens.dialogs.command_palette import open_theme_palette

        open_theme_palette(self)

    def action_command_palette(self) -> None:
        from ralph_tui.tui.screens.dialogs.command_palette import open_palette

        open_palette(self)

    # Size.

    def on_resize(self, event: events.Resize) -> None:
        self._check_size(event.size)

    def _check_size(self, size: Size) -> None:
        """Cover the screen when the terminal is too small, and uncover it when it is large enough.

        Also called after a screen opens or closes, because a dialog may have opened above the cover.
        """
        small, covered = is_too_small(*size), isinstance(self.screen, TooSmall)
        if small and not covered:
            self.push_screen(TooSmall())
        elif covered and not small:
            self.pop_screen()


def show(app: RalphApp, splash: "Splash | None" = None) -> int:
    """Open the screen, replacing the splash if there is one, and return the loop's exit status, or 0 if none ran."""
    if splash is not None:
        app.driver_class = splash.driver_over(app.driver_class)
    with (
        pinned_feature(
            layout_of(app.launch.root).feature
        ),  # even if another terminal chooses or checks out another feature
        manual_collection(),
        quiet_stderr(
            redraw=lambda: app.call_later(app.refresh),  # from the writer's thread
            hang_up=lambda: app.call_later(app.lifecycle.hang_up),
        ),
    ):
        code = app.run()
        if app.lifecycle.refresher.is_titled and not app.is_web and sys.__stderr__ is not None:
            # Through Textual's writer, which ignores a terminal that has closed.
            sys.__stderr__.write(OLD_TITLE)
    if app.exit_message:
        sys.stderr.write(f"ralph: {app.exit_message}\n")
    elif (finished := app.bridge.own_result) and not (app.is_web or app.lifecycle.is_hung_up):
        from ralph_tui.present.events.run_result import exit_summary

        sys.stderr.write("ralph: " + "\n".join(exit_summary(app.view, finished)) + "\n")
    return code if code is not None else app.return_code or 0
