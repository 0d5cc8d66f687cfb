"""Brace expansion: `a{b,c}` is two words before anything else happens."""

import re
from collections.abc import Iterator
from itertools import pairwise

from ralph_tui.guard.syntax import UnreadableError, Word

_LIMIT = 512
_MAX_BRACES = 64
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")

_Text = tuple[str, str]
"""A text and its kinds."""


def expand_braces(word: Word) -> Iterator[Word]:
    """The words that the braces of this word make; most often the word itself."""
    if "{" not in word.text:
        yield word
        return
    if word.text.count("{") > _MAX_BRACES:
        raise UnreadableError("too many braces")
    for count, (text, kinds) in enumerate(_expand((word.text, word.kinds))):
        if count >= _LIMIT:
            raise UnreadableError("too many brace alternatives")
        if (text, kinds) == (word.text, word.kinds):
            yield word
        elif text:
            yield Word(text, kinds, word.raw, -1, word.scripts, word.feeds)


def _expand(source: _Text) -> Iterator[_Text]:
    text, kinds = source
    for start, (char, kind) in enumerate(zip(text, kinds, strict=True)):
        if char != "{" or kind != "u":
            continue
        end, commas = _group(text, kinds, start)
        if end < 0:
            continue
        parts = _parts(source, start, end, commas)
        if not parts:
            continue
        for part in parts:
            for inner, inner_kinds in _expand(part):
                for rest, rest_kinds in _expand((text[end + 1 :], kinds[end + 1 :])):
                    yield text[:start] + inner + rest, kinds[:start] + inner_kinds + rest_kinds
        return
    yield source


def _group(text: str, kinds: str, start: int) -> tuple[int, list[int]]:
    """Where the brace closes, -1 if nowhere, and the commas at its own level."""
    depth = 0
    commas: list[int] = []
    for at in range(start, len(text)):
        if kinds[at] != "u":
            continue
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at, commas
        elif text[at] == "," and depth == 1:
            commas.append(at)
    return -1, []


def _parts(source: _Text, start: int, end: int, commas: list[int]) -> list[_Text]:
    text, kinds = source
    if commas:
        bounds = [start, *commas, end]
        return [(text[a + 1 : b], kinds[a + 1 : b]) for a, b in pairwise(bounds)]
    match = _RANGE.fullmatch(text, start + 1, end)
    if match is None:
        return []
    numbers = match[1].lstrip("-").isdigit() and match[2].lstrip("-").isdigit()
    first, last = (
        (int(match[1]), int(match[2])) if numbers else (ord(match[1][0]), ord(match[2][0]))
    )
    if abs(last - first) > _LIMIT:
        raise UnreadableError("too many brace alternatives")
    step = 1 if last >= first else -1
    values = range(first, last + step, step)
    made = [str(v) if numbers else chr(v) for v in values]
    return [(value, "q" * len(value)) for value in made]
