"""A page that can be searched: `/`, then n and N; the pane that has the keys, else the main one."""

from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.widgets.search import Searchable
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.text_view import TextView


class SearchablePage(Page):
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


class ListDetailPage(SearchablePage):
    """Subclasses say which is the list and what shows its contents."""

    def listed(self) -> TextView:
        """The list."""
        raise NotImplementedError

    def contents(self) -> Transcript | TextView:
        """What shows the chosen one now."""
        raise NotImplementedError

    def do_open(self) -> None:
        """Into the contents."""
        raise NotImplementedError

    @property
    def is_reading(self) -> bool:
        """On a narrow screen the contents have taken the place of the list."""
        return self.has_class("-reading")

    def back(self) -> bool:
        """On a narrow screen, from the contents to the list."""
        was_over_it = self.is_reading and self.has_class("-narrow")
        self.remove_class("-reading")
        if was_over_it:
            self.listed().focus()
        return was_over_it

    def go_in(self) -> None:
        """From the list into the contents."""
        self.add_class("-reading")
        self.contents().focus()

    def put_in_sight(self) -> None:
        """On a narrow screen what a key changes would be behind the list."""
        if self.has_class("-narrow") and not self.is_reading:
            self.go_in()

    def searched_in(self) -> Transcript | TextView:
        """The list while it has the keys, else the contents."""
        return self.listed() if self.listed().has_focus else self.contents()

    def on_row_list_opened(self) -> None:
        """A double click is Enter."""
        self.do_open()
