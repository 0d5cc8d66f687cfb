"""How much of a text is walked through before it counts as unreadable."""

from ralph_tui.guard.syntax import UnreadableError

_MAX_COMMANDS = 4000
_MAX_DEPTH = 25
_MAX_NESTED_TEXT = 256 * 1024
"""Characters of texts within texts: each level reads all that is below it once more."""


class Bounds:
    """Counts the work on one text; every method raises `UnreadableError` when it is too much."""

    def __init__(self) -> None:
        self.depth = 0
        self._commands = 0
        self._nested_text = 0

    def count(self) -> None:
        """One more command."""
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableError("too many commands")

    def enter(self, length: int = 0) -> None:
        """Go one level deeper, into a text of this length."""
        self.depth += 1
        self._nested_text += length
        if self.depth > _MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        if self._nested_text > _MAX_NESTED_TEXT:
            raise UnreadableError("too much text within texts")

    def leave(self) -> None:
        """Come back up."""
        self.depth -= 1
