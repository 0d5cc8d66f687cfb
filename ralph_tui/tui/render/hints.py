"""Sentences that name keys, and the keys of a dialog; a click on a key is that key. Pure functions."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from rich.cells import cell_len

from ralph_tui.tui.keys import Keys, key_named
from ralph_tui.tui.render.spans import Span, Tone

_NAMES = ("up", "down", "space", "tab", "escape", "enter", "pageup", "pagedown")
_RANGE = re.compile(r"\d-\d")

GAP = "  "
MAX_LINES = 2
"""Of the keys of a dialog."""


def hint(keys: Keys, text: str, tone: Tone = Tone.TEXT, **values: str) -> list[Span]:
    """A sentence as spans: `{pause} goes on` with the key that pauses here."""
    return [
        Span(piece, Tone.KEY if is_key else tone) for piece, is_key in keys.pieces(text, **values)
    ]


class Piece(NamedTuple):
    """A part of what a dialog says of its keys."""

    text: str
    is_key: bool = False
    presses: str = ""
    """The key that a click on it is, as people write it."""


def foot_lines(text: str, width: int) -> list[list[Piece]]:
    """Keys with their words, which commas part, in as few lines as hold them; what does not fit is left out.

    What is behind a semicolon is not worth a line more. One key with its word is one place to click; where
    several share a word each is its own.
    """
    needed, _, extra = text.partition("; ")
    lines: list[list[str]] = [[]]
    for item in filter(None, needed.split(", ")):
        if not _fits(item, lines[-1], width):
            if len(lines) == MAX_LINES:
                return _pieced(lines)
            lines.append([])
        lines[-1].append(item)
    for item in filter(None, extra.split(", ")):
        if not _fits(item, lines[-1], width):
            break
        lines[-1].append(item)
    return _pieced(lines)


def _fits(item: str, line: list[str], width: int) -> bool:
    return not line or cell_len(GAP.join([*line, item])) <= width


def _pieced(lines: list[list[str]]) -> list[list[Piece]]:
    return [
        [piece for at, item in enumerate(line) for piece in (*_gap(at), *_pieces(item))]
        for line in lines
    ]


def _gap(at: int) -> tuple[Piece, ...]:
    return (Piece(GAP),) if at else ()


def _pieces(item: str) -> Iterator[Piece]:
    words = item.split(" ")
    count = next((at for at, word in enumerate(words) if not _leads(word)), len(words))
    keys = [word for word in words[:count] if is_key(word)]
    alone = keys[0] if len(words[:count]) == 1 and keys else ""
    for at, word in enumerate(words[:count]):
        yield Piece(word, is_key=True, presses=word if is_key(word) else "")
        if at < count - 1:
            yield Piece(" ")
    said = " ".join(["", *words[count:]] if count else words)
    if said:
        yield Piece(said, presses=alone)


def _leads(word: str) -> bool:
    """Whether the word belongs to the keys of an item and not to what they do."""
    return is_key(word) or _RANGE.fullmatch(word) is not None


def is_key(word: str) -> bool:
    """Whether a word names a key."""
    name = key_named(word)
    return (
        len(word) == 1 or "+" in name or name in _NAMES or re.fullmatch(r"f\d+", name) is not None
    )
