"""Cuts long texts into chunks that are laid out one by one, and reads unified diffs as two columns."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

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


class DiffLine(NamedTuple):
    """A line of one column: its sign (` `, `-`, `+`, `@` or none) and its number in its own text."""

    sign: str = ""
    text: str = ""
    number: int = -1


class DiffRow(NamedTuple):
    """The line before and the line after, beside each other."""

    before: DiffLine
    after: DiffLine


def diff_lines(lines: Iterable[str]) -> list[DiffLine]:
    """Read each line with its sign; its number counts the lines of its own text."""
    was = now = 0
    found: list[DiffLine] = []
    for line in lines:
        sign, text = line[:1], line[1:]
        if sign == "-":
            found.append(DiffLine(sign, text, was))
        elif sign in ("+", " "):
            found.append(DiffLine(sign, text, now))
        else:
            found.append(DiffLine("@", line))
        was += sign in ("-", " ")
        now += sign in ("+", " ")
    return found


def diff_rows(sides: Sequence[DiffLine]) -> list[DiffRow]:
    """Put removed lines beside the added lines that replace them."""
    pairs: list[DiffRow] = []
    gone: list[DiffLine] = []
    new: list[DiffLine] = []

    def settle() -> None:
        pairs.extend(DiffRow(*both) for both in zip_longest(gone, new, fillvalue=DiffLine()))
        gone.clear()
        new.clear()

    for side in sides:
        if side.sign == "-":
            if new:
                settle()
            gone.append(side)
        elif side.sign == "+":
            new.append(side)
        else:
            settle()
            pairs.append(DiffRow(side, side))
    settle()
    return pairs


def texts_before_and_after(sides: Iterable[DiffLine]) -> tuple[str, str]:
    """Rebuild the texts before and after, as far as the diff has them."""
    sides = tuple(sides)
    before = "\n".join(side.text for side in sides if side.sign in ("-", " "))
    after = "\n".join(side.text for side in sides if side.sign in ("+", " "))
    return before, after
