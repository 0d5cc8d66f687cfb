"""A cursor over one shell text, and the bounds that keep any text from being endless work."""

from ralph_tui.guard.syntax import UnreadableError

MAX_DEPTH = 30
_MAX_STEPS = 40_000


class Cursor:
    """A cursor over one shell text.

    Args:
        text: The text; no NUL in it.
        base: Where the text begins in what the agent sent, -1 when it is nowhere in it verbatim.
        depth: How deep this text is nested in others.
    """

    def __init__(self, text: str, base: int = 0, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        self.text = text
        self.base = base
        self.depth = depth
        self._position = 0
        self._continued = "\\\n" in text
        self._steps = 0
        self._nesting = depth

    def look(self, count: int) -> str:
        """The next characters, line continuations left out."""
        if not self._continued:
            return self.text[self._position : self._position + count]
        found: list[str] = []
        at = self._position
        while len(found) < count:
            while self.text.startswith("\\\n", at):
                at += 2
            if at >= len(self.text):
                break
            found.append(self.text[at])
            at += 1
        return "".join(found)

    def skip(self, count: int) -> None:
        """Go past the next characters, and the continuations before them."""
        if not self._continued:
            self._position += count
            return
        for _ in range(count):
            self._drop_continuations()
            self._position += 1
        self._drop_continuations()

    def _drop_continuations(self) -> None:
        while self.text.startswith("\\\n", self._position):
            self._position += 2

    def step(self) -> None:
        """Count the work, so that no input can make it endless."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise UnreadableError("too long to read")
