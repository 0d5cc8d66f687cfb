"""A list of rows that can be searched: what is typed is looked for at once, n and N step."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from ralph_tui.tui.widgets.rows import Key, RowsView


class Searched(RowsView):
    """Remembers the words; finds them anew at every step, because the list goes on changing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "match(1)", "Next match", show=False),
        Binding("N", "match(-1)", "Previous match", show=False),
        Binding("escape", "forget_words", "End the search", show=False),
    ]

    words = ""

    class Found(Message):
        """Another place, or other words."""

        def __init__(self, text: str) -> None:
            """Say what was found, in a few words; empty when the search is over."""
            super().__init__()
            self.text = text

    def keys_holding(self, words: str) -> Sequence[Key]:
        """The items that hold the words, from top to bottom."""
        raise NotImplementedError

    @property
    def shows_cursor(self) -> bool:
        """What was found is marked while somebody still types."""
        return self.has_focus or bool(self.words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without words these keys are somebody else's."""
        if action in ("match", "forget_words"):
            return bool(self.words)
        return super().check_action(action, parameters)

    def search(self, words: str) -> None:
        """Look for other words, from where the cursor is."""
        self.words = words
        self._go(0)

    def action_match(self, step: int) -> None:
        """The next place, or the one before; round and round."""
        self._go(step)

    def action_forget_words(self) -> None:
        """The keys are free again."""
        self.search("")

    def _go(self, step: int) -> None:
        keys = self.keys_holding(self.words) if self.words else ()
        if keys:
            place = self._place(keys, step)
            self.move_cursor(keys[place])
            said = f"{place + 1} of {len(keys)}"
        else:
            said = "nothing found" if self.words else ""
            self.refresh()
        self.post_message(self.Found(said))

    def _place(self, keys: Sequence[Key], step: int) -> int:
        """The match at, after or before the cursor."""
        if self.cursor in keys:
            return (keys.index(self.cursor) + step) % len(keys)
        here = self.row_of(self.cursor) if self.cursor is not None else None
        rows = (self.row_of(key) or 0 for key in keys)
        after = next((i for i, row in enumerate(rows) if row >= (here or 0)), 0)
        return (after - 1) % len(keys) if step < 0 else after
