"""What the parts of the screen may ask of the app, so that none of them imports it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import ClassVar

from textual.app import App
from textual.dom import DOMNode
from textual.reactive import var
from textual.scrollbar import ScrollBar, ScrollBarRender

from ralph_tui.domain.events import Notice
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.launch import Launch
from ralph_tui.present.text.figures import plural
from ralph_tui.present.text.glyphs import Glyphs, choose
from ralph_tui.present.text.key_hints import Keys
from ralph_tui.present.text.spans import Tone
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.context import Situation
from ralph_tui.tui.commands.keymap import Keymap, keymap_of, keys_of
from ralph_tui.tui.commands.registry import name_of

SENT_WHOLE = 74_994
"""Bytes that every terminal takes that takes any (OSC 52); many leave out what is longer."""


def copied_words(text: str, *, first: bool) -> str:
    """How much, and the way out where it may not have come to the clipboard."""
    said = f"Copied {plural(len(text.splitlines()), 'line')}."
    if len(text.encode()) > SENT_WHOLE:
        return f"{said} Many terminals leave out so long a text; {{export}} writes it to a file."
    return f"{said} If your clipboard stays as it was, {{export}} writes a file." if first else said


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock; tests bring their own."""
    return datetime.now(UTC)


class PlainBars(ScrollBarRender):
    """Scrollbars that end at whole cells, because parts of one are signs that ASCII has not."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "] * 8


class Picking(DOMNode):
    """A screen of its own in which a task is selected, which is the one that commands mean."""

    @property
    def selected(self) -> Task | None:
        """The task under the cursor."""
        raise NotImplementedError

    def choose(self, task: Task) -> None:
        """Put the cursor on a task."""
        raise NotImplementedError


class Host(App[int]):
    """The app as widgets and screens see it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in Tone}

    view: var[LoopView] = var(LoopView, init=False)
    """The loop at a glance; replaced as a whole, at most twenty times a second."""

    kept_theme = ""
    """The theme in use, also while others are tried on."""

    findings: tuple[Notice, ...] = ()
    """What was found before a run: models, limits, what is wrong."""

    request: str | None = None
    """What the project was asked for and is not done yet; None while that is not known."""

    def __init__(self, launch: Launch, clock: Clock = utc_now) -> None:
        """Show the project of `launch`."""
        self.launch = launch
        self.clock = clock
        self.glyphs: Glyphs = choose()
        self.keymap: Keymap = keymap_of(launch.screen.keys)
        self.keys: Keys = keys_of(self.keymap)
        ScrollBar.renderer = ScrollBarRender if self.glyphs.unicode else PlainBars
        super().__init__()

    def keys_of(self, command: Command) -> tuple[str, ...]:
        """The keys a command has here; the first is the one that is shown."""
        return self.keys.of[name_of(command)]

    def action_press(self, key: str) -> None:
        """A key that was clicked; no letter lands in a field where somebody types."""
        focused = self.screen.focused
        if len(key) == 1 and focused is not None and focused.check_consume_key(key, key):
            self.screen.set_focus(None)
        # Later, so that it is the app that sends it: an event does not go beyond its sender.
        self.call_later(self.simulate_key, key)

    def copy_to_clipboard(self, text: str) -> None:
        """Send it to the terminal's clipboard and say so; an empty one is left as it was."""
        if not text.strip():
            self.say("There is nothing to copy yet.")
            return
        first = not self.clipboard
        super().copy_to_clipboard(text)
        self.say(self.keys.said(copied_words(text, first=first)))

    def marked(self) -> str:
        """What the mouse has marked, which goes before what is under the cursor."""
        return self.screen.get_selected_text() or ""

    def situation(self) -> Situation:
        """What decides whether a command can be used now."""
        raise NotImplementedError

    def action_invoke(self, name: str) -> None:
        """Do the command with this name, or say why it cannot be done."""
        raise NotImplementedError

    async def failed(self, error: Exception) -> None:
        """Say what nobody expected, and write down the details."""
        raise NotImplementedError

    def work_ended(self) -> None:
        """Called when work of a command is done; keys may have waited for that."""

    def say(self, text: str, *, error: bool = False) -> None:
        """A toast; hostile text is safe in it."""
        raise NotImplementedError
