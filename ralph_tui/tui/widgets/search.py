"""Search: panes that can be searched, the line to type in, and the screens that have both."""

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
from ralph_tui.tui.widgets.footer import FooterLine, Stage


class Searchable(Widget, can_focus=True):
    """A pane that can be searched; every step searches again, because the contents change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("greater_than_sign", "match(1)", "Next match", show=False),
        Binding("less_than_sign", "match(-1)", "Previous match", show=False),
        Binding("escape", "forget_words", "End the search", show=False),
    ]

    words = ""
    found = 0
    current_match: Hashable | None = None

    class Found(Message, namespace="searched"):
        """Posted when the match or the words change."""

        def __init__(self, pane: "Searchable", text: str) -> None:
            super().__init__()
            self.pane = pane
            self.text = text

    # What a subclass must define.

    def find(self, words: str) -> Sequence[Hashable]:
        raise NotImplementedError

    def go_to(self, place: Hashable) -> None:
        raise NotImplementedError

    def next_place(self, places: Sequence[Hashable], step: int) -> int:
        return (
            (places.index(self.current_match) + step) % len(places)
            if self.current_match in places
            else 0
        )

    # Searching.

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("match", "forget_words"):
            return bool(self.words)
        return super().check_action(action, parameters)

    def search(self, words: str) -> None:
        self.words = words
        self._go(0)

    def repeat_search(self) -> None:
        """Search again without scrolling, because the contents changed."""
        if self.words:
            self._post_found(self.find(self.words))

    def action_match(self, step: int) -> None:
        self._go(step)

    def action_forget_words(self) -> None:
        self.search("")

    def _go(self, step: int) -> None:
        places = self.find(self.words)
        if places:
            self.current_match = places[self.next_place(places, step)]
            self.go_to(self.current_match)
        else:
            self.current_match = None
            self.refresh()
        self._post_found(places)

    def _post_found(self, places: Sequence[Hashable]) -> None:
        self.found = len(places)
        at = f"{places.index(self.current_match) + 1} of " if self.current_match in places else ""
        result = f"{at}{len(places)}" if places else "no matches"
        self.post_message(self.Found(self, result if self.words else ""))


class SearchLine(Horizontal):
    """The line to type the words in; hidden until it is needed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False)]

    app = getters.app(Host)

    class Changed(Message):
        """Posted when the words change; empty when the search is over."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Staged(Message):
        """Posted when the stage of the search changes."""

        def __init__(self, stage: Stage) -> None:
            super().__init__()
            self.stage = stage

    def compose(self) -> ComposeResult:
        yield Static("/", markup=False, classes="sign")
        area = Input(compact=True, select_on_focus=False)
        area.cursor_blink = self.app.animation_level == "full"
        yield area
        yield Static("", markup=False, id="found")

    def on_mount(self) -> None:
        self.display = False

    @property
    def words(self) -> str:
        return self.query_one(Input).value if self.display else ""

    def enter(self) -> None:
        self.display = True
        self.query_one(Input).focus()

    def leave(self) -> None:
        self.query_one(Input).value = ""
        self.display = False
        self.post_message(self.Staged(""))
        self.post_message(self.Changed(""))
        self.screen.focus_next()

    def on_descendant_focus(self) -> None:
        self.post_message(self.Staged("typing"))

    def on_descendant_blur(self) -> None:
        self.post_message(self.Staged("found" if self.words else ""))

    def action_leave(self) -> None:
        self.leave()

    def show_message(self, text: str) -> None:
        self.query_one("#found", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not event.value:
            self.leave()
        else:
            self.post_message(self.Kept())

    class Kept(Message):
        """Posted when the words are kept and letters are commands again."""


class Searching(Widget):
    """A screen on which one pane at a time is searched."""

    searched: Searchable | None = None
    search_line: SearchLine | None = None
    """Mounted above the footer by the first search."""

    @property
    def is_search_open(self) -> bool:
        return self.search_line is not None and self.search_line.display

    def focus_after_search(self, searched: Searchable) -> Widget:
        return searched

    def search_in(self, pane: Searchable) -> None:
        before, self.searched = self.searched, pane
        if before is not None and before is not pane:
            before.search("")

    async def open_search(self, pane: Searchable) -> None:
        self.search_in(pane)
        if self.search_line is None:
            self.search_line = SearchLine()
            foot = self.query("FooterLine, DialogFooter").first()
            await self.mount(self.search_line, before=foot)
        self.search_line.enter()

    def leave_search(self) -> bool:
        if self.search_line is None or not self.search_line.display:
            return False
        self.search_line.leave()
        return True

    def search_for(self, words: str) -> None:
        if self.searched is not None:
            self.searched.search(words)
            if not self.is_search_open:
                self.focus_after_search(self.searched).focus()

    def on_search_line_staged(self, message: SearchLine.Staged) -> None:
        for foot in self.query(FooterLine):
            foot.stage = message.stage

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        self.search_for(message.words)

    def on_search_line_kept(self) -> None:
        if self.searched is not None:
            self.searched.focus()

    def on_searched_found(self, message: Searchable.Found) -> None:
        if self.search_line is None or message.pane is not self.searched or not self.is_attached:
            return
        self.search_line.show_message(message.text)
        if self.search_line.display and not message.pane.words and message.pane.has_focus:
            self.search_line.leave()
