"""The app: wires launch, bridge, commands and screens; decides nothing about the loop.

RalphApp              does commands, covers a screen that is too small
├── Living                begins and ends, runs the loop or watches the project
│   └── InOrder           holds keys that are typed ahead of what opens, one thing at a time
│       └── Showing       folds what happens and shows it
│           └── Owner     what commands may ask of the app
│               └── Host  what widgets may ask of it
├── Bridge        runs or watches the loop, folds events
├── Steering      what each command does
└── Dashboard     shows the folds   (dialogs and TooSmall above it)
"""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import Notice
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.launch import Launch
from ralph_tui.store.crash_reports import write_report
from ralph_tui.tui.app.lifecycle import Living
from ralph_tui.tui.commands.context import Situation
from ralph_tui.tui.commands.registry import BY_NAME, bindings
from ralph_tui.tui.host.widget_host import Clock, Picking, utc_now
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.too_small import TooSmall, is_too_small
from ralph_tui.tui.theme.stylesheets import SHEETS
from ralph_tui.tui.theme.themes import RALPH_DARK, THEMES, shown_as

if TYPE_CHECKING:
    from textual.command import Provider


def _commands() -> "type[Provider]":
    from ralph_tui.tui.screens.dialogs.command_palette import CommandsProvider

    return CommandsProvider


class RalphApp(Living):
    """The full-screen face of one project's loop."""

    TITLE = "ralph"
    CSS_PATH = SHEETS
    COMMANDS: ClassVar = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(),
        Binding("ctrl+z", "suspend_screen", show=False),
    ]
    PAUSE_GC_ON_SCROLL = True

    def __init__(self, launch: Launch, *, autostart: bool = False, clock: Clock = utc_now) -> None:
        """Show `launch`; `autostart` begins the loop after the first paint."""
        super().__init__(launch, autostart=autostart, clock=clock)
        self._choose_theme(launch.screen.theme)
        self._warned = False

    def _choose_theme(self, wanted: str) -> None:
        """Where that can be, before the styles are read: later they would all be read twice more."""
        for theme in THEMES:
            self.register_theme(theme)
        if self.no_color:  # or the terminal's own colours would become black on black
            self.set_reactive(App.ansi_color, False)  # noqa: FBT003 - as Textual declares it
        known = wanted if wanted in self.available_themes else RALPH_DARK.name
        self.kept_theme = shown_as(known, self.console.color_system, no_color=self.no_color)
        chosen = self.available_themes[self.kept_theme]
        if chosen.dark and not chosen.ansi:  # as Textual has prepared itself for
            self.set_reactive(App.theme, chosen.name)
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """Nothing is painted in other colours."""
        self.theme = self.kept_theme
        self.set_keymap({name: ",".join(keys) for name, keys in self.keymap.items()})
        self.set_class(not self.glyphs.unicode, "-ascii")
        self.push_screen(self.dashboard)
        self.screen_change_signal.subscribe(
            self, lambda _: self.call_later(lambda: self._fit(self.size))
        )

    def on_ready(self) -> None:
        """Name a theme that is not there."""
        if self.launch.screen.theme not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            self.complain(f"There is no theme {self.launch.screen.theme!r}. There are {known}.")

    # Commands.

    def situation(self) -> Situation:
        """What decides whether a command can be used now."""
        task = self.dashboard.selected_task() if self.dashboard.is_mounted else None
        if isinstance(self.screen, Picking):
            task = self.screen.selected
        return Situation(
            self.view,
            self.keys,
            self.bridge.live,
            task,
            takes_requests=self.launch.run_request is not None,
            plans_anew=self.launch.run_replan is not None,
            request=self.request,
        )

    def complain(self, text: str) -> None:
        """Say it now, and keep it where it can be read later."""
        self.say(text, error=True)
        self.bridge.sink(Notice(level="error", text=text))

    async def keep_theme(self, name: str) -> None:
        """A theme was chosen, for the next time, too."""
        await self.steering.looking.keep_theme(name)

    def action_invoke(self, name: str) -> None:
        """Do a command, or say why it cannot be done now."""
        command = BY_NAME[name]
        if reason := command.disabled(self.situation()):
            self.say(reason)
            return
        if self.may_begin(name):
            self.began(name, do(self, self.steering.handler(name)(), f"command-{name}"))

    async def failed(self, error: Exception) -> None:
        """A bug: said in one sentence, with the file that has the rest."""
        path = await asyncio.to_thread(write_report, error, self.launch.root)
        what = f"{type(error).__name__}: {one_line(str(error), 300)}"
        self.complain(f"That failed: {what}. The details are in {path}.")

    def _fatal_error(self) -> None:
        """What Textual does with a bug in the drawing: it would print it with all its variables."""
        error = self._exception
        if error is not None:
            path = write_report(error, self.launch.root)
            self.last_word = (
                f"the screen failed, {type(error).__name__}: {one_line(str(error), 300)}. This is a "
                f"bug in ralph; what was done so far is safe in .ralph/. The details are in {path}."
            )
        self._return_code = ExitCode.ERROR
        self._close_messages_no_wait()

    async def action_quit(self) -> None:
        """Textual's own way out asks, too."""
        self.action_invoke("quit")

    def action_help_quit(self) -> None:
        """Ctrl+C without a selection: the first press warns, the second quits."""
        if self._warned:
            self.action_invoke("quit")
            return
        self._warned = True
        self.set_timer(2.0, self._forget_warning)
        self.say("Press ctrl+c again to quit.")

    def action_suspend_screen(self) -> None:
        """Ctrl+Z: to the shell and back with `fg`, unless the loop would stand still with the screen."""
        if not self.bridge.running:
            self.action_suspend_process()
            return
        more = " {quit} can let it go on in the background." if self.launch.go_on else ""
        self.say(self.keys.said("Suspending would hold up the loop, too." + more))

    def _forget_warning(self) -> None:
        self._warned = False

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Textual's commands that are not ours already."""
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Maximize", "Minimize"):
                yield command

    def search_themes(self) -> None:
        """Textual's palette of themes, with the chosen one kept."""
        from ralph_tui.tui.app.theme_palette import KeptThemes
        from ralph_tui.tui.screens.dialogs.command_palette import Palette

        self.push_screen(Palette(providers=[KeptThemes], placeholder="Search for themes"))

    def action_command_palette(self) -> None:
        """Textual's own key for it, too."""
        from ralph_tui.tui.screens.dialogs.command_palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    # Size.

    def on_resize(self, event: events.Resize) -> None:
        """There may be room now, or none any more."""
        self._fit(event.size)

    def _fit(self, size: Size) -> None:
        """Cover the screen when there is no room, and uncover it when there is.

        Also one that has just been opened or closed: a dialog may have been on its way above the cover.
        """
        small, covered = is_too_small(*size), isinstance(self.screen, TooSmall)
        if small and not covered:
            self.push_screen(TooSmall())
        elif covered and not small:
            self.pop_screen()
