"""What the parts of the screen may ask of the app, so that none of them imports it."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from textual.app import App
from textual.dom import DOMNode
from textual.reactive import var

from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.control.launch import Launch
from ralph_tui.present.text.glyphs import Glyphs, choose
from ralph_tui.present.text.key_hints import Keys
from ralph_tui.present.text.spans import Tone
from ralph_tui.store.crash_reports import write_report
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.context import CommandContext
from ralph_tui.tui.commands.custom_keys import Keymap, keymap_of, keys_of
from ralph_tui.tui.commands.registry import name_of
from ralph_tui.tui.host.bridge import Bridge
from ralph_tui.tui.host.terminal_escapes import notification
from ralph_tui.tui.terminal.line_cache import draw_scroll_bars
from ralph_tui.tui.terminal.private import write_escape

TOAST = 160
"""Characters of a toast: two or three lines."""

SENT_WHOLE = 74_994
"""Bytes that every terminal with a clipboard (OSC 52) accepts; many ignore longer texts."""


def copied_words(text: str, *, first: bool) -> str:
    """Return how much was copied, and what to do if the clipboard did not get it."""
    said = f"Copied {plural(len(text.splitlines()), 'line')}."
    if len(text.encode()) > SENT_WHOLE:
        return f"{said} Many terminals leave out so long a text; press {{export}} to write it to a file."
    hint = "If your clipboard stays as it was, press {export} to write a file instead."
    return f"{said} {hint}" if first else said


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time of the wall clock; tests bring their own."""
    return datetime.now(UTC)


class Picking(DOMNode):
    """A screen in which a task is selected, which is the one that commands mean."""

    @property
    def selected(self) -> Task | None:
        """The task under the cursor."""
        raise NotImplementedError

    def choose(self, task: Task) -> None:
        """Put the cursor on a task."""
        raise NotImplementedError


@runtime_checkable
class CommandScreen(Protocol):
    """A screen with commands of its own, which the palette and the help list first."""

    NAME: str
    page_commands: tuple[Command, ...]

    def not_now(self, name: str) -> str:
        """Return why one of its commands cannot be used now; empty when it can."""

    def action_invoke(self, name: str) -> None:
        """Run a command of its own, or pass it on to the app."""


class Host(App[int]):
    """The app as widgets, screens and handlers see it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in Tone}

    view: var[LoopView] = var(LoopView, init=False)
    """The folded state of the loop; replaced as a whole, at most twenty times a second."""

    kept_theme = ""
    """The theme in use, also while others are tried on."""

    findings: tuple[Notice, ...] = ()
    """What the checks before a run found: models, limits, problems."""

    request: str | None = None
    """The project's request that is not done yet; None while that is not known."""

    foreign_plans: tuple[str, ...] = ()
    """Plans of other tools in the project, which could be imported; found only where there is no plan."""

    last_word = ""
    """Printed on the terminal after the screen has closed."""

    invoke: Callable[[str], None]
    """Runs the command with this name, or says why it cannot run now; `app` puts it here."""

    watch_again: Callable[[], None]
    """Looks at the project again, because another feature was chosen; `app` puts it here."""

    work_ended: Callable[[], None]
    """Called when work beside the screen has ended: keys may have waited for that; `app` puts it here."""

    def __init__(self, launch: Launch, clock: Clock) -> None:
        """Show the project of `launch`."""
        self.launch = launch
        self.clock = clock
        self.glyphs: Glyphs = choose()
        self.keymap: Keymap = keymap_of(launch.screen.keys)
        self.keys: Keys = keys_of(self.keymap)
        self.bridge = Bridge(launch, clock)
        draw_scroll_bars(unicode=self.glyphs.unicode)
        super().__init__()

    @property
    def root(self) -> Path:
        """The project's folder."""
        return self.launch.root

    def keys_of(self, command: Command) -> tuple[str, ...]:
        """Return a command's keys here; the first is the one that is shown."""
        return self.keys.of[name_of(command)]

    def action_press(self, key: str) -> None:
        """Press a key that was clicked; a letter does not land in a field."""
        focused = self.screen.focused
        if len(key) == 1 and focused is not None and focused.check_consume_key(key, key):
            self.screen.set_focus(None)
        # Later, so that it is the app that sends it: an event does not go beyond its sender.
        self.call_later(self.simulate_key, key)

    def copy_to_clipboard(self, text: str) -> None:
        """Send a text to the terminal's clipboard and say so; an empty text changes nothing."""
        if not text.strip():
            self.say("There is nothing to copy yet.")
            return
        first = not self.clipboard
        super().copy_to_clipboard(text)
        self.say(self.keys.said(copied_words(text, first=first)))

    def marked(self) -> str:
        """Return the text the mouse has selected, which comes before what is under the cursor."""
        return self.screen.get_selected_text() or ""

    def situation(self) -> CommandContext:
        """Return what decides whether a command can be used now."""
        screens = (screen for screen in reversed(self.screen_stack) if isinstance(screen, Picking))
        picking = next(screens, None)
        return CommandContext(
            self.view,
            self.keys,
            self.bridge.live,
            picking.selected if picking is not None else None,
            takes_requests=self.launch.run_request is not None,
            plans_anew=self.launch.run_replan is not None,
            imports=self.launch.importer is not None,
            request=self.request,
        )

    def action_invoke(self, name: str) -> None:
        """Run the command of a key or a link."""
        self.invoke(name)

    # What a person hears.

    def say(self, text: str, *, error: bool = False) -> None:
        """Show a toast; hostile text is safe in it, and nothing that matters is said in it alone."""
        shown = one_line(inert(text), TOAST)
        if error:
            self.notify(shown, title="problem", severity="error", markup=False)
        else:
            self.notify(shown, markup=False)

    def complain(self, text: str) -> None:
        """Say what went wrong, and keep it in the stream, where it can be read later."""
        self.say(text, error=True)
        self.bridge.sink(Notice(level="error", text=text))

    async def failed(self, error: Exception) -> None:
        """Say in one sentence that there is a bug, and write down its details."""
        path = await asyncio.to_thread(write_report, error, self.launch.root)
        self.complain(f"That failed: {described(error)}. The details are in {path}.")

    def call_person(self, text: str) -> None:
        """Ring, and where they look elsewhere (or always, or never) tell their desktop."""
        self.bell()
        when = self.launch.screen.notifications
        wanted = when == "always" or (when == "blur" and not self.app_focus)
        if wanted and not self.is_web:
            write_escape(self, notification(text))


def described(error: Exception) -> str:
    """Return an unexpected error as one line."""
    return f"{type(error).__name__}: {one_line(str(error), 300)}"
