"""The base of all dialogs: a frame over the dashboard, Escape, search, copy, export, the focus kept inside.

Dialog
├── framed()       a subclass's own
└── #under         at the foot of the screen, over the dashboard's
    ├── SearchLine while somebody searches
    └── DialogFooter       what the dialog's keys do
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, TypeVar

from textual import events, getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ralph_tui.domain.sanitize import inert
from ralph_tui.present.text.spans import plain
from ralph_tui.tui.commands.registry import BY_NAME
from ralph_tui.tui.host.saving import save
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.terminal.frozen_background import FrozenBackground
from ralph_tui.tui.terminal.private import bind, keys_bound
from ralph_tui.tui.widgets.footer import DialogFooter
from ralph_tui.tui.widgets.row_list import RowList
from ralph_tui.tui.widgets.search import Searchable, SearchLine


def text_of(shown: Widget) -> str:
    """Return all visible text from top to bottom, inert."""
    return "\n".join(inert(text).rstrip() for text in _texts(shown))


def _texts(shown: Widget) -> Iterator[str]:
    if not shown.display:
        return
    if isinstance(shown, RowList):
        rows = (shown.row_line(y, shown.row_width) for y in range(shown.row_count()))
        yield from (plain(row) for row in rows)
    elif isinstance(shown, TextArea):
        yield shown.text
    elif isinstance(shown, Input):
        yield shown.value
    elif shown.children:
        for child in shown.children:
            yield from _texts(child)
    elif isinstance(content := shown.render(), Content):
        yield content.plain


Answer = TypeVar("Answer")

SHARED = ("search", "copy", "share", "copy_all", "export")
"""Commands of the dashboard that act on the dialog while it is open."""

TYPING = "enter keep the words, esc end the search"
FOUND = "> < step, esc end the search"
"""What keys do while somebody searches, and once the words are kept."""


class Dialog(FrozenBackground[Answer]):
    """A modal screen that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]
    STEM = "dialog"
    """The beginning of an export's file name."""
    KEYS = "esc close"
    """What the dialog's keys do, the most important first; `{copy}` represents the person's key."""

    app = getters.app(Host)

    foot = getters.query_one(DialogFooter)

    _line: SearchLine | None = None
    _pane: Searchable | None = None

    def framed(self) -> Iterable[Widget]:
        """Yield the frame and its contents."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield the frame, and the footer under it."""
        yield from self.framed()
        with Vertical(id="under"):
            yield DialogFooter()

    def on_mount(self) -> None:
        """Bind the person's keys that the dialog does not use itself."""
        own = keys_bound(self)
        keys = ((key, name) for name in SHARED for key in self.app.keys_of(BY_NAME[name]))
        bind(self, [Binding(k, name, show=False) for k, name in keys if k not in own])
        # Letters are a dialog's own, so a jump begins with the other keys.
        jumps = (key for key in self.app.keys_of(BY_NAME["jump"]) if len(key) > 1)
        bind(self, [Binding(key, "app.invoke('jump')", show=False) for key in jumps])
        self.say_keys()

    def action_leave(self) -> None:
        """Close the top layer: the search first, then the dialog."""
        if self._line is not None and self._line.display:
            self._line.leave()
        else:
            self.action_cancel()

    def on_click(self, event: events.Click) -> None:
        """Treat a click beside the frame as Escape."""
        if event.widget is self:
            self.clicked_beside()

    def clicked_beside(self) -> None:
        """Close; drafts are kept."""
        self.action_leave()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)

    # Keys.

    def keys_said(self) -> str:
        """Return what the keys do now."""
        return self.app.keys.said(self.KEYS)

    def say_keys(self) -> None:
        """Show what the keys do now."""
        line = self._line
        if line is None or not line.display:
            self.foot.keys = self.keys_said()
        elif line.has_focus_within:
            self.foot.keys = TYPING
        else:
            self.foot.keys = f"{FOUND}, {self.keys_said()}"

    def on_screen_suspend(self) -> None:
        """Hide the keys under another dialog, whose own may take fewer lines."""
        self.query_one("#under").visible = False

    def on_screen_resume(self) -> None:
        """Show the keys again."""
        for under in self.query("#under"):
            under.visible = True

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus."""
        self.say_keys()

    # Copying.

    def copied(self) -> str:
        """Return all text of the dialog."""
        return text_of(self.query_one(".dialog"))

    def action_copy(self) -> None:
        """Copy the mouse selection, else what is chosen, else everything."""
        self.app.copy_to_clipboard(self.app.marked() or self.chosen_text() or self.copied())

    def action_copy_all(self) -> None:
        """Copy everything."""
        self.app.copy_to_clipboard(self.copied())

    def action_share(self) -> None:
        """Offer to copy or export everything."""
        do(self, self._share(), "share")

    async def _share(self) -> None:
        from ralph_tui.tui.screens.dialogs.menu import ShareMenu  # its base is a dialog, too

        chosen = await self.app.push_screen_wait(ShareMenu("Everything in this window."))
        if chosen == "copy":
            self.action_copy()
        elif chosen == "copy_all":
            self.action_copy_all()
        elif chosen == "export":
            self.action_export()

    def chosen_text(self) -> str:
        """Return what is under the cursor; empty where nothing is chosen."""
        return ""

    def action_export(self) -> None:
        """Export everything."""
        do(self, save(self.app, self.STEM, self.copied()), "export")

    # Searching.

    def searched_in(self) -> Searchable | None:
        """Return what can be searched; None where there are only a few words."""
        return None

    def keys_go_to(self, searched: Searchable) -> Widget:
        """Return what gets the focus after a search."""
        return searched

    async def action_search(self) -> None:
        """Open the search line."""
        self._pane = self.searched_in()
        if self._pane is None:
            self.app.say("There is nothing to search here.")
            return
        if self._line is None:
            self._line = SearchLine()
            await self.query_one("#under").mount(self._line, before=0)
        self._line.enter()

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        """Search while the person types."""
        if self._pane is not None and self._line is not None:
            self._pane.search(message.words)
            if not self._line.display:
                self.keys_go_to(self._pane).focus()

    def on_search_line_kept(self) -> None:
        """Focus what was found."""
        if self._pane is not None:
            self._pane.focus()

    def on_searched_found(self, message: Searchable.Found) -> None:
        """Show which match of how many; close the line when the pane gave up the search."""
        if self._line is None:
            return
        self._line.say(message.text)
        if self._line.display and not message.pane.words and message.pane.has_focus:
            self._line.leave()
