"""The base of all dialogs: a frame over the dashboard, with Escape, search and copy.

Dialog
├── compose_frame()    the subclass's widgets
└── #under             at the bottom of the screen, over the dashboard's footer
    ├── SearchLine     during a search
    └── DialogFooter   what the dialog's keys do
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
from ralph_tui.tui.host.saving import share
from ralph_tui.tui.host.widget_host import Host, do
from ralph_tui.tui.terminal.frozen_background import FrozenBackground
from ralph_tui.tui.terminal.private import bind, keys_bound
from ralph_tui.tui.widgets.footer import DialogFooter
from ralph_tui.tui.widgets.row_list import RowList
from ralph_tui.tui.widgets.search import Searchable, Searching


def text_of(shown: Widget) -> str:
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

SHARED = ("search", "copy", "share")
"""Commands of the dashboard that act on an open dialog instead."""

TYPING = "enter confirm, esc end search"
FOUND = "> < step, esc end search"
"""The footer while the words are typed, and once they are kept."""


class Dialog(FrozenBackground[Answer], Searching):
    """A modal screen that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]
    STEM = "dialog"
    """The beginning of an export's file name."""
    CLOSES_ON_CLICK = True
    """Whether a click outside closes it."""
    KEYS = "esc close"
    """The footer, the most important key first; `{copy}` represents the person's key."""

    app = getters.app(Host)

    footer = getters.query_one(DialogFooter)

    def compose_frame(self) -> Iterable[Widget]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield from self.compose_frame()
        with Vertical(id="under"):
            yield DialogFooter()

    def on_mount(self) -> None:
        """Bind the shared commands to the person's keys, except keys that the dialog uses itself."""
        own = keys_bound(self)
        keys = ((key, name) for name in SHARED for key in self.app.keys_of(BY_NAME[name]))
        bind(self, [Binding(k, name, show=False) for k, name in keys if k not in own])
        self.update_footer()

    def action_leave(self) -> None:
        """Close the top layer: the search first, then the dialog."""
        if not self.leave_search():
            self.action_cancel()

    def on_click(self, event: events.Click) -> None:
        if event.widget is self and self.CLOSES_ON_CLICK:
            self.action_leave()

    def action_cancel(self) -> None:
        self.dismiss(None)

    # Footer.

    def footer_text(self) -> str:
        return self.app.keys.said(self.KEYS)

    def update_footer(self) -> None:
        """Show what the keys do now, also in a search."""
        line = self.search_line
        if line is None or not line.display:
            self.footer.keys = self.footer_text()
        elif line.has_focus_within:
            self.footer.keys = TYPING
        else:
            self.footer.keys = f"{FOUND}, {self.footer_text()}"

    def on_screen_suspend(self) -> None:
        self.query_one("#under").visible = False

    def on_screen_resume(self) -> None:
        for under in self.query("#under"):
            under.visible = True

    def on_descendant_focus(self) -> None:
        self.update_footer()

    # Copying.

    def full_text(self) -> str:
        return text_of(self.query_one(".dialog"))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(
            self.app.mouse_selection() or self.chosen_text() or self.full_text()
        )

    def action_share(self) -> None:
        do(self, share(self.app, self.STEM, self.full_text()), "share")

    def chosen_text(self) -> str:
        return ""

    # Searching.

    def search_target(self) -> Searchable | None:
        return None

    async def action_search(self) -> None:
        pane = self.search_target()
        if pane is None:
            self.app.show_message("There is no text to search here.")
        else:
            await self.open_search(pane)
