"""What every dialog has: a frame over the dashboard, Escape, search, copy, export, the focus kept inside."""

from typing import ClassVar, TypeVar

from rich.cells import cell_len
from textual import getters
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ralph_tui.tui.commands import BY_NAME
from ralph_tui.tui.copying import text_of
from ralph_tui.tui.doing import do
from ralph_tui.tui.host import Host
from ralph_tui.tui.rebinding import bind
from ralph_tui.tui.render.hints import key_words
from ralph_tui.tui.saving import save
from ralph_tui.tui.widgets.search_line import SearchLine
from ralph_tui.tui.widgets.searchable import Searchable

Answer = TypeVar("Answer")

BORDER = 6
"""Cells that corners, lines and gaps take of the width of a frame."""

SHARED = ("search", "copy", "copy_all", "export")
"""Commands of the dashboard that mean the dialog while it is open."""


def fitting(keys: str, width: int) -> str:
    """As many of the keys, which commas part, as a border of this width has room for; all before that is known."""
    shown = keys.split(", ")
    while width and len(shown) > 1 and cell_len(", ".join(shown)) > width - BORDER:
        shown.pop()
    return ", ".join(shown)


class Dialog(ModalScreen[Answer]):
    """A modal screen that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Close", show=False)]
    STEM = "dialog"
    """What its file is named after."""

    app = getters.app(Host)

    _keys = ""
    _line: SearchLine | None = None
    _pane: Searchable | None = None

    def on_mount(self) -> None:
        """The person's keys, where the dialog has none of its own for them."""
        own = self._bindings.key_to_bindings
        keys = ((key, name) for name in SHARED for key in self.app.keys_of(BY_NAME[name]))
        bind(self, [Binding(k, name, show=False) for k, name in keys if k not in own])
        # Letters are a dialog's own, so a jump begins with the other keys.
        jumps = (key for key in self.app.keys_of(BY_NAME["jump"]) if len(key) > 1)
        bind(self, [Binding(key, "app.invoke('jump')", show=False) for key in jumps])

    def action_leave(self) -> None:
        """Close the top layer: the search first, then the dialog."""
        if self._line is not None and self._line.display:
            self._line.leave()
        else:
            self.action_cancel()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)

    # Keys.

    def say_keys(self, text: str) -> None:
        """Say these keys in the lower border: what is between commas whole or not at all, the first first."""
        self._keys = text
        self._fit_keys()
        self.call_after_refresh(self._fit_keys)  # how wide the frame is may not be known yet

    def on_resize(self) -> None:
        """There may be room for more of them, or for less."""
        self.call_after_refresh(self._fit_keys)

    def _fit_keys(self) -> None:
        frames = self.query(".dialog")
        if self._keys and frames:
            frame = frames.first()
            frame.border_subtitle = key_words(fitting(self._keys, frame.outer_size.width))

    # Copying.

    def copied(self) -> str:
        """Everything it says."""
        return text_of(self.query_one(".dialog"))

    def action_copy(self) -> None:
        """Copy what is chosen; all of it where there is nothing to choose."""
        self.action_copy_all()

    def action_copy_all(self) -> None:
        """Copy the whole of it."""
        self.copy(self.copied())

    def copy(self, text: str) -> None:
        """Put it on the clipboard, and say so."""
        self.app.copy_to_clipboard(text)
        self.app.say("Copied.")

    def action_export(self) -> None:
        """Write the whole of it to a file."""
        do(self, save(self.app, self.STEM, self.copied()), "export")

    # Searching.

    def searched_in(self) -> Searchable | None:
        """Where there is more to read than a few words."""
        return None

    async def action_search(self) -> None:
        """Type words to look for."""
        self._pane = self.searched_in()
        if self._pane is None:
            self.app.say("There is nothing to search here.")
            return
        if self._line is None:
            self._line = SearchLine()
            await self.mount(self._line)
        self._line.enter()

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        """Every letter counts."""
        if self._pane is not None and self._line is not None:
            self._pane.search(message.words)
            if not self._line.display:
                self._pane.focus()

    def on_search_line_kept(self) -> None:
        """The keys are for what was found."""
        if self._pane is not None:
            self._pane.focus()

    def on_searched_found(self, message: Searchable.Found) -> None:
        """Which of how many; the line goes when its words were given up in the pane."""
        if self._line is None:
            return
        self._line.say(message.text)
        if self._line.display and not message.pane.words and message.pane.has_focus:
            self._line.leave()
