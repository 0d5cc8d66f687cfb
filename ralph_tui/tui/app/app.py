"""The app: assembles its parts and passes Textual's events to them; decides nothing about the loop.

RalphApp
├── ScreenLifecycle   starts and stops, runs the loop or watches the project
│   ├── Refresher     drains events from the bridge and shows them
│   └── Handlers      what each command does
├── KeyQueue          holds keys typed before the screen they are meant for has opened
├── Bridge            runs or watches the loop, reduces its events to a view
└── Dashboard         shows the view   (dialogs and TooSmall cover it)
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Input

from ralph_tui.domain.errors import ExitCode
from ralph_tui.engine.control.launch import Launch
from ralph_tui.store.crash_reports import write_report
from ralph_tui.tui.app.key_queue import KeyQueue
from ralph_tui.tui.app.lifecycle import ScreenLifecycle
from ralph_tui.tui.commands.registry import BY_NAME, bindings
from ralph_tui.tui.host.widget_host import Clock, Host, error_line, utc_now
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.too_small import TooSmall, is_too_small
from ralph_tui.tui.terminal.driver import with_one_reader
from ralph_tui.tui.terminal.paste import LONGEST_LINE, line_of
from ralph_tui.tui.terminal.private import end_at_bug
from ralph_tui.tui.theme.stylesheets import SHEETS
from ralph_tui.tui.theme.themes import RALPH_DARK, THEMES, shown_as

if TYPE_CHECKING:
    from textual.command import Provider


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
        """Open ralph's palette instead of Textual's."""
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
