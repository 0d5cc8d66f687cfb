"""A page that can be searched: `/`, then n and N; the pane that has the keys, else the main one."""

from ralph_tui.tui.screens.page import Page
from ralph_tui.tui.widgets.searchable import Searchable


class Searching(Page):
    """Subclasses say where to look."""

    _pane: Searchable | None = None
    """Where words are looked for."""

    def searched_in(self) -> Searchable:
        """The pane in which a search begins now."""
        raise NotImplementedError

    def not_now(self, name: str) -> str:
        """There is no next where nothing is found."""
        if name in ("next_match", "previous_match") and not (self._pane and self._pane.found):
            return self.app.keys.said(f"Nothing is found; {{{self.NAME}.search}} searches.")
        return super().not_now(name)

    def do_search(self) -> None:
        """Ask for words to look for where the keys are."""
        self.look_in(self.searched_in())
        super().do_search()

    def look_in(self, pane: Searchable) -> None:
        """From now on there."""
        before, self._pane = self._pane, pane
        if before is not None and before is not pane:
            before.search("")

    def searched(self, words: str) -> None:
        """Find the words, and go to the next place that has them."""
        if self._pane is not None:
            self._pane.search(words)
            if not self.search_line.display:
                self._pane.focus()

    def search_again(self) -> None:
        """What is in sight has changed under the words."""
        if not self.is_attached or not self.search_line.words:
            return
        if self._pane is not None and self._pane.display:
            self._pane.look_again()
        else:
            self.look_in(self.searched_in())
            self.searched(self.search_line.words)

    def on_searched_found(self, message: Searchable.Found) -> None:
        """Which of how many; the line goes when its words were given up in the pane."""
        if message.pane is not self._pane or not self.is_attached:
            return
        self.search_line.say(message.text)
        if self.search_line.display and not message.pane.words and message.pane.has_focus:
            self.search_line.leave()
        self.refresh_keys()

    def do_next_match(self) -> None:
        """Further down."""
        if self._pane is not None:
            self._pane.action_match(1)

    def do_previous_match(self) -> None:
        """Further up."""
        if self._pane is not None:
            self._pane.action_match(-1)

    def on_search_line_kept(self) -> None:
        """The keys are for what was found."""
        if self._pane is not None:
            self._pane.focus()
