"""Sentences that name keys, as spans and as text of a frame; a click on a key is that key. Pure functions."""

import re
from collections.abc import Iterator

from textual.content import Content
from textual.style import Style

from ralph_tui.tui.keys import Keys, key_named
from ralph_tui.tui.render.spans import Span, Tone, pressing

_PART = re.compile(r"[^,;]+[,;]?\s*")
_NAMES = ("up", "down", "space", "tab", "escape", "enter", "pageup", "pagedown")


def hint(keys: Keys, text: str, tone: Tone = Tone.TEXT, **values: str) -> list[Span]:
    """A sentence as spans: `{pause} goes on` with the key that pauses here."""
    return [
        Span(piece, Tone.KEY if is_key else tone) for piece, is_key in keys.pieces(text, **values)
    ]


def key_words(text: str) -> Content:
    """What the foot of a frame says its keys do, such as `y approve, n reject, esc later`.

    One key with its word is one place to click; where several share a word each is its own.
    """
    return Content.assemble(*(piece for part in _PART.findall(text) for piece in _linked(part)))


def _linked(part: str) -> Iterator[tuple[str, Style]]:
    words = re.findall(r"\S+\s*|\s+", part)
    are_keys = [_is_key(word.strip()) for word in words]
    count = next((at for at, is_key in enumerate(are_keys) if not is_key), len(words))
    if count == 1:
        body = part.rstrip(" ,;")
        yield body, Style.from_meta(pressing(words[0].strip()))
        yield part[len(body) :], Style.null()
        return
    for word, is_key in zip(words, are_keys, strict=True):
        yield word, Style.from_meta(pressing(word.strip())) if is_key else Style.null()


def _is_key(word: str) -> bool:
    name = key_named(word)
    return (
        len(word) == 1 or "+" in name or name in _NAMES or re.fullmatch(r"f\d+", name) is not None
    )
