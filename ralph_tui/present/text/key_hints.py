"""Writes keys as people know them, and sentences that name the keys of commands; a click on a key presses it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len

from ralph_tui.present.text.spans import Line, Span, Tone

_SHOWN = {
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "greater_than_sign": ">",
    "less_than_sign": "<",
    "shift+up": "shift+↑",
    "shift+down": "shift+↓",
    "escape": "esc",
}
_NAMED = {shown: key for key, shown in _SHOWN.items()}

_PLACE = re.compile(r"\{([a-z_.]+)\}")

ESCAPE = "esc"
"""The one key that cannot be changed, as sentences name it."""


def key_label(key: str) -> str:
    """Write a key as people do."""
    return _SHOWN.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)


def key_named(label: str) -> str:
    """Find Textual's name of a key that is written like this."""
    return _NAMED.get(label, label.lower() if label[1:].isdigit() else label)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of every command.

    Attributes:
        of: By the command's name in the settings; a page's own commands begin with the page, such as why.copy.
        within: By the same name, the command whose menu offers one without a key.
    """

    of: Mapping[str, tuple[str, ...]]
    within: Mapping[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """Return the key that is shown for a command: its own, else the one of its menu."""
        own = self.of[name]
        if own:
            return key_label(own[0])
        page, dot, _ = name.rpartition(".")
        return self.label(f"{page}{dot}{self.within[name]}")

    def said(self, text: str, **values: str) -> str:
        """Fill a sentence with keys: `{pause} continues`; `values` are put in as they are."""
        return "".join(piece for piece, _ in self.pieces(text, **values))

    def pieces(self, text: str, **values: str) -> Iterator[tuple[str, bool]]:
        """Fill a sentence in pieces, each with whether it is a key."""
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


_NAMES = (
    "up",
    "down",
    "left",
    "right",
    "shift+↑",
    "shift+↓",
    "space",
    "tab",
    "escape",
    "enter",
    "pageup",
    "pagedown",
)
_RANGE = re.compile(r"\d-\d")

GAP = "  "
MAX_LINES = 2
"""Lines of the keys of a dialog."""


def hint(keys: Keys, text: str, tone: Tone = Tone.TEXT, **values: str) -> list[Span]:
    """Make spans of a sentence: `{pause} continues` with the key that pauses here."""
    return [
        Span(piece, Tone.KEY if is_key else tone) for piece, is_key in keys.pieces(text, **values)
    ]


class HintPiece(NamedTuple):
    """A part of the line that names a dialog's keys."""

    text: str
    is_key: bool = False
    presses: str = ""
    """The key that a click presses, as people write it."""


def foot_lines(text: str, width: int) -> list[list[HintPiece]]:
    """Fold a dialog's keys, separated by commas, into few lines; what does not fit is left out.

    What follows a semicolon is shown only where it fits. One key with its word is one place to click; where several
    keys share a word each is its own.
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


def _pieced(lines: list[list[str]]) -> list[list[HintPiece]]:
    return [
        [piece for at, item in enumerate(line) for piece in (*_gap(at), *_pieces(item))]
        for line in lines
    ]


def _gap(at: int) -> tuple[HintPiece, ...]:
    return (HintPiece(GAP),) if at else ()


def _pieces(item: str) -> Iterator[HintPiece]:
    words = item.split(" ")
    count = next((at for at, word in enumerate(words) if not _leads(word)), len(words))
    keys = [word for word in words[:count] if is_key(word)]
    alone = keys[0] if len(words[:count]) == 1 and keys else ""
    for at, word in enumerate(words[:count]):
        yield HintPiece(word, is_key=True, presses=word if is_key(word) else "")
        if at < count - 1:
            yield HintPiece(" ")
    said = " ".join(["", *words[count:]] if count else words)
    if said:
        yield HintPiece(said, presses=alone)


def _leads(word: str) -> bool:
    """Tell whether a word belongs to the keys of an item and not to what they do."""
    return is_key(word) or _RANGE.fullmatch(word) is not None


def is_key(word: str) -> bool:
    """Tell whether a word names a key."""
    name = key_named(word)
    return (
        len(word) == 1 or "+" in name or name in _NAMES or re.fullmatch(r"f\d+", name) is not None
    )


_KEYS = (
    (r"ralph approve` or `ralph reject [^`]*", "answer"),
    (r"ralph answer", "answer"),
    (r"ralph retry\b[^`]*", "retry"),
    (r"ralph release\b[^`]*", "hold"),
    (r"ralph (?:build|run|plan|validate)", "build"),
    (r"ralph (?:discover )?\"[^`\"]*\"", "request"),
    (r"ralph edit TASK --model NAME", "model"),
    (r"ralph edit(?: [^`]*)?", "edit"),
    (r"ralph breaker", "why"),
    (r"ralph history", "history"),
    (r"ralph inject", "inject"),
    (r"ralph import [^`]*", "import_plan"),
    (r"ralph resume", "pause"),
    (r"ralph stop", "stop"),
    (r"ralph tasks(?=` shows why)", "why"),
    (r"ralph tasks", "tasks"),
)
"""Commands that have a key on the screen; others keep their names, for a terminal."""

_OF_A_TASK = ("retry", "hold", "edit")

_COMMAND = re.compile("|".join(f"(?P<k{at}>`{words}`)" for at, (words, _) in enumerate(_KEYS)))


def commands_as_keys(keys: Keys, text: str, tone: Tone = Tone.TEXT) -> Line:
    """Replace the commands in a sentence of the engine with keys: `ralph retry TASK` is the key that retries."""
    spans: list[Span] = []
    at = 0
    for found in _COMMAND.finditer(text):
        spans += [Span(text[at : found.start()], tone)] if found.start() > at else []
        name = _KEYS[int(str(found.lastgroup)[1:])][1]
        spans.append(Span(keys.label(name), Tone.KEY))
        task = found[0].strip("`").split()[2:3] if name in _OF_A_TASK else []
        spans += [Span(f" on {given}", tone) for given in task if given != "TASK"]
        at = found.end()
    return [*spans, Span(text[at:], tone)] if at < len(text) else spans


def commands_as_key_text(keys: Keys, text: str) -> str:
    """Replace commands with keys, as plain text."""
    return "".join(span.text for span in commands_as_keys(keys, text))
