"""The app: wires launch, bridge, commands and screens; decides nothing about the loop.

RalphApp          begins and ends, does commands, covers a screen that is too small
├── InOrder           holds keys that are typed ahead of what opens
│   └── Showing       folds what happens and shows it
│       └── Owner     what commands may ask of the app
│           └── Host  what widgets may ask of it
├── Bridge        runs or watches the loop, folds events
├── Steering      what each command does
└── Dashboard     shows the folds   (dialogs and TooSmall above it)
"""

import asyncio
import gc
import signal
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import Worker

from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import Notice
from ralph_tui.domain.text import one_line
from ralph_tui.engine.controls import ENDED_BY
from ralph_tui.engine.launch import Launch
from ralph_tui.store.crash import write_report
from ralph_tui.tui.bridge import FLUSH_SECONDS
from ralph_tui.tui.commands import BY_NAME, bindings
from ralph_tui.tui.doing import do
from ralph_tui.tui.host import Clock, Picking, utc_now
from ralph_tui.tui.one_dialog import Opening
from ralph_tui.tui.screens.too_small import TooSmall, is_too_small
from ralph_tui.tui.showing import IDLE_FLUSH_SECONDS
from ralph_tui.tui.situation import Situation
from ralph_tui.tui.styles import SHEETS
from ralph_tui.tui.themes import RALPH_DARK, THEMES
from ralph_tui.tui.typeahead import InOrder

if TYPE_CHECKING:
    from textual.command import Provider

    from ralph_tui.tui.steering import Steering

MET_SECONDS = 1.0
"""Longest that what a key may need waits for the first look at the project; a long past takes longer."""


def _commands() -> "type[Provider]":
    from ralph_tui.tui.palette import CommandsProvider

    return CommandsProvider


class RalphApp(InOrder):
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
        super().__init__(launch, clock)
        self._choose_theme(launch.screen.theme)
        self._steering: Steering | None = None
        self._autostart = autostart
        self._watcher: Worker[None] | None = None
        self._warned = False
        self._hung_up = False
        self._opening = Opening()

    @property
    def steering(self) -> "Steering":
        """What each command does; its dialogs are loaded when it is first wanted."""
        if self._steering is None:
            from ralph_tui.tui.steering import Steering

            self._steering = Steering(self, self.bridge)
        return self._steering

    # Start and end.

    def _choose_theme(self, wanted: str) -> None:
        """Where that can be, before the styles are read: later they would all be read twice more."""
        for theme in THEMES:
            self.register_theme(theme)
        self.kept_theme = wanted if wanted in self.available_themes else RALPH_DARK.name
        chosen = self.available_themes[self.kept_theme]
        if chosen.dark and not chosen.ansi:  # as Textual has prepared itself for
            self.set_reactive(App.theme, chosen.name)
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        """Nothing is painted in other colours."""
        self.theme = self.kept_theme
        self.set_keymap({name: ",".join(keys) for name, keys in self.keymap.items()})
        self.set_class(not self.glyphs.unicode, "-ascii")
        self.screen_change_signal.subscribe(self, lambda _: self._opening.is_there())
        self.push_screen(self.dashboard)

    def on_ready(self) -> None:
        """After the first paint: what is slow, and the loop."""
        self._obey_signals()
        if self.launch.screen.theme not in self.available_themes:
            known = ", ".join(sorted(self.available_themes))
            self.complain(f"There is no theme {self.launch.screen.theme!r}. There are {known}.")
        do(self, self._warm_up(), "warm-up")
        if self._autostart:
            self.start_loop()
        else:
            self._start_watching()

    async def _warm_up(self) -> None:
        """Load what was not needed to show the project, once it is shown.

        What was imported stays for good; a collection that walked through it all took 0.2 s.
        """
        gc.freeze()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.met.wait(), MET_SECONDS)
        steering = await self._loaded()
        await asyncio.to_thread(self.launch.warm_up)
        gc.freeze()
        if not self._autostart:
            await steering.starting.look_around()

    async def _loaded(self) -> "Steering":
        await asyncio.to_thread(import_module, "ralph_tui.tui.steering")
        return self.steering

    def shown(self) -> None:
        """What waits for the person may have come."""
        if self._steering is not None:
            self._steering.deciding.look()

    def nothing_runs(self) -> None:
        """Say how to start."""
        do(self, self._offer(), "starting")

    async def _offer(self) -> None:
        """How to start."""
        steering = await self._loaded()
        await steering.starting.look()

    def _obey_signals(self) -> None:
        """Asked to end from outside: stop the loop, then leave; asked again, do not wait."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._end, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGHUP, self.hang_up)

    def _end(self, number: int) -> None:
        do(self, self.steering.leaving.leave_now(ENDED_BY[number]), "signal")

    def hang_up(self) -> None:
        """The terminal is gone; kernel, shell and our own writing may all say so, and none means to hurry."""
        if not self._hung_up:
            self._hung_up = True
            self._end(signal.SIGHUP)

    def start_loop(self, request: str = "") -> None:
        """Run the loop, for a new request if there is one; the watcher steps aside.

        On a page of a browser it runs in a process of its own, because pages are closed without a word.
        """
        if self.is_web and self.launch.go_on is not None:
            do(self, self.steering.leaving.run_elsewhere(request), "elsewhere")
            return
        self.bridge.running = True
        self.request = request or self.request
        self.dashboard.show_banner(None, running=True)
        if self._watcher is not None:
            self._watcher.cancel()
        self.flush_every(FLUSH_SECONDS)
        do(self, self._run(request), "loop", exclusive=True)

    async def _run(self, request: str) -> None:
        await self.bridge.run(request)
        self.flush()
        then, self.when_finished = self.when_finished, None
        if then is None or not await then():
            self.nothing_runs()
            self._start_watching()

    def _start_watching(self) -> None:
        self.flush_every(IDLE_FLUSH_SECONDS if self.view.is_known else FLUSH_SECONDS)
        self._watcher = do(self, self.bridge.watch(), "watch")

    def exit_when_finished(self) -> None:
        """Leave as soon as the loop has ended."""
        self.when_finished = self._exit_with_status
        if not self.bridge.running:
            self.exit(self.bridge.exit_code)

    async def _exit_with_status(self) -> bool:
        self.exit(self.bridge.exit_code)
        return True

    # Commands.

    def situation(self) -> Situation:
        """What decides whether a command can be used now."""
        task = self.dashboard.selected_task() if self.dashboard.is_mounted else None
        if isinstance(self.screen, Picking):
            task = self.screen.selected
        takes = self.launch.run_request is not None
        return Situation(self.view, self.keys, self.bridge.live, task, takes, self.request)

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
        if self._opening.has_time_for(name):
            self._opening.began(name, do(self, self.steering.handler(name)(), f"command-{name}"))

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
        from ralph_tui.tui.palette_themes import KeptThemes
        from ralph_tui.tui.screens.finding import Palette

        self.push_screen(Palette(providers=[KeptThemes], placeholder="Search for themes"))

    def action_command_palette(self) -> None:
        """Textual's own key for it, too."""
        from ralph_tui.tui.screens.finding import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    # Size.

    def on_resize(self, event: events.Resize) -> None:
        """Cover the screen when there is no room, and uncover it when there is."""
        small = is_too_small(event.size.width, event.size.height)
        covered = isinstance(self.screen, TooSmall)
        if small and not covered:
            self.push_screen(TooSmall())
        elif covered and not small:
            self.pop_screen()
