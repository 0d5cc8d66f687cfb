"""A long text in pieces that are laid out one by one. Pure functions."""

from collections.abc import Iterator

LINES = 100
CHARACTERS = 5_000
"""At most so much of a piece: more than a screen, and yet laid out in a few milliseconds."""


def pieces(text: str, first: int = LINES) -> Iterator[str]:
    """The text cut at ends of lines, and sooner the `first` time; a line that is longer is cut at a space, or where there is none, anywhere."""
    kept: list[str] = []
    size, most = 0, first
    for line in _short(text):
        if kept and (len(kept) == most or size + len(line) > CHARACTERS):
            yield "\n".join(kept)
            kept, size, most = [], 0, LINES
        kept.append(line)
        size += len(line) + 1
    if kept:
        yield "\n".join(kept)


def _short(text: str) -> Iterator[str]:
    """Its lines, the long ones in parts."""
    for line in text.split("\n"):
        at = 0
        while len(line) - at > CHARACTERS:
            space = line.rfind(" ", at, at + CHARACTERS)
            end = space + 1 if space > at else at + CHARACTERS
            yield line[at:end]
            at = end
        yield line[at:]
