"""A page whose text can be searched: `/`, then n and N."""

from collections.abc import Sequence
from typing import Protocol

from ralph_tui.tui.screens.page import Page


class Findable(Protocol):
    """A widget that finds words in what it shows."""

    def find(self, words: str) -> Sequence[int]:
        """Places that hold the words, in order."""
        ...

    def go_to(self, place: int) -> None:
        """Bring a place into sight."""
        ...

    def focus(self, scroll_visible: bool = True) -> object:  # noqa: FBT001, FBT002 - Textual's
        """Take the keys."""
        ...


class Searching(Page):
    """Subclasses say where to look."""

    _matches: Sequence[int] = ()
    _match = -1

    def searched_in(self) -> Findable:
        """What is in sight."""
        raise NotImplementedError

    def not_now(self, name: str) -> str:
        """There is no next where nothing is found."""
        if name in ("next_match", "previous_match") and not self._matches:
            return "Nothing is found; / searches."
        return super().not_now(name)

    def searched(self, words: str) -> None:
        """Find the words, and go to the first."""
        self._find(words)
        if self._matches:
            self._step(1)

    def search_again(self) -> None:
        """What is in sight has changed under the words."""
        if self.is_attached:
            self._find(self.search_line.words)

    def _find(self, words: str) -> None:
        self._matches, self._match = self.searched_in().find(words), -1
        self._say_found(words)

    def _say_found(self, words: str) -> None:
        place = f"{self._match + 1} of " if self._match >= 0 else ""
        found = f"{place}{len(self._matches)}" if self._matches else "nothing found"
        self.search_line.say(found if words else "")
        self.refresh_keys()

    def _step(self, step: int) -> None:
        self._match = (self._match + step) % len(self._matches)
        self.searched_in().go_to(self._matches[self._match])
        self._say_found(self.search_line.words)

    def do_next_match(self) -> None:
        """Further down."""
        self._step(1)

    def do_previous_match(self) -> None:
        """Further up."""
        self._step(-1)

    def on_search_line_kept(self) -> None:
        """The keys are for what was found."""
        self.searched_in().focus()
