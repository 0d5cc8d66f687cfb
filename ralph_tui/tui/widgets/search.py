"""Searching: panes whose words can be found, and the line to type them in."""

from collections.abc import Hashable, Sequence
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.widgets.footer import Stage


class Searchable(Widget, can_focus=True):
    """A pane that can be searched; it searches again at every step, because its contents change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("greater_than_sign", "match(1)", "Next match", show=False),
        Binding("less_than_sign", "match(-1)", "Previous match", show=False),
        Binding("escape", "forget_words", "End the search", show=False),
    ]

    words = ""
    found = 0
    """The number of matches."""
    stands: Hashable | None = None
    """The match that was shown last."""

    class Found(Message, namespace="searched"):
        """Another match, or other words."""

        def __init__(self, pane: "Searchable", text: str) -> None:
            """Say in which pane, and what was found in a few words; empty when the search is over."""
            super().__init__()
            self.pane = pane
            self.text = text

    # What a pane must say of itself.

    def find(self, words: str) -> Sequence[Hashable]:
        """Return the matches from top to bottom; none for no words."""
        raise NotImplementedError

    def go_to(self, place: Hashable) -> None:
        """Scroll to a match and mark it."""
        raise NotImplementedError

    def next_place(self, places: Sequence[Hashable], step: int) -> int:
        """Return the match so many steps from the present one."""
        return (places.index(self.stands) + step) % len(places) if self.stands in places else 0

    # What is done with it.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys to others while there are no words."""
        if action in ("match", "forget_words"):
            return bool(self.words)
        return super().check_action(action, parameters)

    def search(self, words: str) -> None:
        """Search for other words, from the present match on."""
        self.words = words
        self._go(0)

    def look_again(self) -> None:
        """Search again, because the contents changed; do not scroll."""
        if self.words:
            self._say(self.find(self.words))

    def action_match(self, step: int) -> None:
        """Go to the next or previous match, and around."""
        self._go(step)

    def action_forget_words(self) -> None:
        """End the search."""
        self.search("")

    def _go(self, step: int) -> None:
        places = self.find(self.words)
        if places:
            self.stands = places[self.next_place(places, step)]
            self.go_to(self.stands)
        else:
            self.stands = None
            self.refresh()
        self._say(places)

    def _say(self, places: Sequence[Hashable]) -> None:
        self.found = len(places)
        at = f"{places.index(self.stands) + 1} of " if self.stands in places else ""
        said = f"{at}{len(places)}" if places else "nothing found"
        self.post_message(self.Found(self, said if self.words else ""))


class SearchLine(Horizontal):
    """The line to type words in; hidden until it is needed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    app = getters.app(Host)

    class Changed(Message):
        """Other words; none when the search is over."""

        def __init__(self, words: str) -> None:
            """Say which one."""
            super().__init__()
            self.words = words

    class Staged(Message):
        """The stage of the search has changed."""

        def __init__(self, stage: Stage) -> None:
            """Say which stage."""
            super().__init__()
            self.stage = stage

    def compose(self) -> ComposeResult:
        """Yield the sign, the words, what was found."""
        yield Static("/", markup=False, classes="sign")
        area = Input(compact=True, select_on_focus=False)
        area.cursor_blink = self.app.animation_level == "full"
        yield area
        yield Static("", markup=False, id="found")

    def on_mount(self) -> None:
        """Hide the line."""
        self.display = False

    @property
    def words(self) -> str:
        """The words of the search."""
        return self.query_one(Input).value if self.display else ""

    def enter(self) -> None:
        """Show the line and focus it."""
        self.display = True
        self.query_one(Input).focus()

    def leave(self) -> None:
        """End the search, and hide the line."""
        self.query_one(Input).value = ""
        self.display = False
        self.post_message(self.Staged(""))
        self.post_message(self.Changed(""))
        self.screen.focus_next()

    def on_descendant_focus(self) -> None:
        """Note that letters are typed."""
        self.post_message(self.Staged("typing"))

    def on_descendant_blur(self) -> None:
        """Note that letters are keys again."""
        self.post_message(self.Staged("found" if self.words else ""))

    def action_leave(self) -> None:
        """End the search on Escape."""
        self.leave()

    def say(self, text: str) -> None:
        """Show how much was found."""
        self.query_one("#found", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while the person types."""
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
        """The words are kept; the keys are the page's again."""
