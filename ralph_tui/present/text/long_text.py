"""Cuts long texts into chunks that are laid out one by one."""

from collections.abc import Iterator

LINES = 100
CHARACTERS = 5_000
"""Size of a chunk: more than a screen, and yet laid out in a few milliseconds."""


def text_chunks(text: str, first: int = LINES) -> Iterator[str]:
    """Cut a text at line ends, after `LINES` lines or for the `first` chunk sooner.

    A line that is too long is cut at a space, or anywhere if it has none.
    """
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
    """Yield its lines, the long ones in parts."""
    for line in text.split("\n"):
        at = 0
        while len(line) - at > CHARACTERS:
            space = line.rfind(" ", at, at + CHARACTERS)
            end = space + 1 if space > at else at + CHARACTERS
            yield line[at:end]
            at = end
        yield line[at:]
