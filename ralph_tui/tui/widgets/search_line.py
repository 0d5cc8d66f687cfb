"""A line to type what to look for; Enter keeps the words, Escape forgets them."""

from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from ralph_tui.tui.host import Host
from ralph_tui.tui.widgets.key_line import Stage


class SearchLine(Horizontal):
    """Hidden until it is needed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    app = getters.app(Host)

    class Changed(Message):
        """Other words; none when the search is over."""

        def __init__(self, words: str) -> None:
            """Say which."""
            super().__init__()
            self.words = words

    class Stands(Message):
        """Other keys mean something now."""

        def __init__(self, stage: Stage) -> None:
            """Say how far the search is."""
            super().__init__()
            self.stage = stage

    def compose(self) -> ComposeResult:
        """The sign, the words, what was found."""
        yield Static("/", markup=False, classes="sign")
        area = Input(compact=True, select_on_focus=False)
        area.cursor_blink = self.app.animation_level == "full"
        yield area
        yield Static("", markup=False, id="found")

    def on_mount(self) -> None:
        """Nobody searches yet."""
        self.display = False

    @property
    def words(self) -> str:
        """What is looked for."""
        return self.query_one(Input).value if self.display else ""

    def enter(self) -> None:
        """Type here."""
        self.display = True
        self.query_one(Input).focus()

    def leave(self) -> None:
        """The search is over."""
        self.query_one(Input).value = ""
        self.display = False
        self.post_message(self.Stands(""))
        self.post_message(self.Changed(""))
        self.screen.focus_next()

    def on_descendant_focus(self) -> None:
        """Letters are words."""
        self.post_message(self.Stands("typing"))

    def on_descendant_blur(self) -> None:
        """Letters are keys again."""
        self.post_message(self.Stands("found" if self.words else ""))

    def action_leave(self) -> None:
        """Escape."""
        self.leave()

    def say(self, text: str) -> None:
        """How much was found."""
        self.query_one("#found", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Every letter counts."""
        event.stop()
        if self.display:
            self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the words and go back to what was found."""
        event.stop()
        if not event.value:
            self.leave()
        else:
            self.post_message(self.Kept())

    class Kept(Message):
        """The words stay; the keys are for the page again."""
