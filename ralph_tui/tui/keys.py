"""Keys as people write them, and sentences that name the keys which commands have here."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SHOWN = {
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "esc",
}
_NAMED = {shown: key for key, shown in _SHOWN.items()}

_PLACE = re.compile(r"\{([a-z_.]+)\}")

ESCAPE = "esc"
"""In a sentence: the one key that is nobody's to change."""


def key_label(key: str) -> str:
    """A key as people write it."""
    return _SHOWN.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)


def key_named(label: str) -> str:
    """The key that is written like this, as Textual names it."""
    return _NAMED.get(label, label.lower() if label[1:].isdigit() else label)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of every command.

    Attributes:
        of: By name, as the settings have it: a page's own commands after the page, such as why.copy.
    """

    of: Mapping[str, tuple[str, ...]]

    def label(self, name: str) -> str:
        """The key that is shown for a command."""
        return key_label(self.of[name][0])

    def said(self, text: str, **values: str) -> str:
        """A sentence with its keys: `{pause} goes on`; `values` are put in as they are."""
        return "".join(piece for piece, _ in self.pieces(text, **values))

    def pieces(self, text: str, **values: str) -> Iterator[tuple[str, bool]]:
        """The same in pieces, each with whether it is a key."""
        at = 0
        for found in _PLACE.finditer(text):
            if before := text[at : found.start()]:
                yield before, False
            at, name = found.end(), found[1]
            if name in values:
                yield values[name], False
            else:
                yield (ESCAPE if name == ESCAPE else self.label(name)), True
        if rest := text[at:]:
            yield rest, False
