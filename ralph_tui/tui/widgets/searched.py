"""A list of rows that can be searched; the search stands where the cursor is."""

from collections.abc import Hashable, Sequence

from ralph_tui.tui.widgets.rows import Key, RowsView
from ralph_tui.tui.widgets.searchable import Searchable


class Searched(RowsView, Searchable):
    """Finds items, whatever of them is in sight."""

    def keys_holding(self, words: str) -> Sequence[Key]:
        """The items that hold the words, from top to bottom."""
        raise NotImplementedError

    def find(self, words: str) -> Sequence[Key]:
        """The items that hold the words; none for no words."""
        return self.keys_holding(words) if words else ()

    def go_to(self, place: Hashable) -> None:
        """Put the cursor there."""
        self.move_cursor(place)

    @property
    def shows_cursor(self) -> bool:
        """What was found is marked while somebody still types."""
        return self.has_focus or bool(self.words)

    def next_place(self, places: Sequence[Key], step: int) -> int:
        """The match at, after or before the cursor."""
        if self.cursor in places:
            return (places.index(self.cursor) + step) % len(places)
        here = self.row_of(self.cursor) if self.cursor is not None else None
        rows = (self.row_of(key) or 0 for key in places)
        after = next((i for i, row in enumerate(rows) if row >= (here or 0)), 0)
        return (after - 1) % len(places) if step < 0 else after
