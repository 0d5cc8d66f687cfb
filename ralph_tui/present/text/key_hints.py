"""Write keys as people know them, and put the keys of commands into sentences. Clicking a key presses it."""

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
_KEY_NAMES = {shown: key for key, shown in _SHOWN.items()}

_PLACEHOLDER = re.compile(r"\{([a-z_.]+)\}")

ESCAPE = "esc"


def key_label(key: str) -> str:
    return _SHOWN.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)


def key_name(label: str) -> str:
    return _KEY_NAMES.get(label, label.lower() if label[1:].isdigit() else label)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of every command.

    Attributes:
        of: The keys by the command's name in the settings. Commands of a page begin with the page, such as why.copy.
        within: For commands without a key, the command whose menu offers them, by the same names.
    """

    of: Mapping[str, tuple[str, ...]]
    within: Mapping[str, str] = field(default_factory=dict)

    def label(self, name: str) -> str:
        """Return the label of a command's key, or of the key that opens its menu."""
        own = self.of[name]
        if own:
            return key_label(own[0])
        page, dot, _ = name.rpartition(".")
        return self.label(f"{page}{dot}{self.within[name]}")

    def said(self, text: str, **values: str) -> str:
        return "".join(piece for piece, _ in self.pieces(text, **values))

    def pieces(self, text: str, **values: str) -> Iterator[tuple[str, bool]]:
        """Yield a filled sentence in pieces, each with whether it is a key."""
        at = 0
        for found in _PLACEHOLDER.finditer(text):
            if before := text[at : found.start()]:
                yield before, False
            at, name = found.end(), found[1]
            if name in values:
                yield values[name], False
            else:
                yield (ESCAPE if name == ESCAPE else self.label(name)), True
        if rest := text[at:]:
            yield rest, False


_SPECIAL_KEYS = (
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


def hint(keys: Keys, text: str, tone: Tone = Tone.TEXT, **values: str) -> list[Span]:
    return [
        Span(piece, Tone.KEY if is_key else tone) for piece, is_key in keys.pieces(text, **values)
    ]


class HintPiece(NamedTuple):
    """A piece of the line with a dialog's keys."""

    text: str
    is_key: bool = False
    presses: str = ""
    """The label of the key that a click presses."""


def foot_lines(text: str, width: int) -> list[list[HintPiece]]:
    """Fold a dialog's keys, separated by commas, into at most `MAX_LINES` lines; the rest is left out.

    Keys after a semicolon are optional and never start a line. A key and its word can be clicked together; if
    several keys share a word, each can be clicked alone.
    """
    needed, _, extra = text.partition("; ")
    lines: list[list[str]] = [[]]
    for item in filter(None, needed.split(", ")):
        if not _fits(item, lines[-1], width):
            if len(lines) == MAX_LINES:
                return _line_pieces(lines)
            lines.append([])
        lines[-1].append(item)
    for item in filter(None, extra.split(", ")):
        if not _fits(item, lines[-1], width):
            break
        lines[-1].append(item)
    return _line_pieces(lines)


def _fits(item: str, line: list[str], width: int) -> bool:
    return not line or cell_len(GAP.join([*line, item])) <= width


def _line_pieces(lines: list[list[str]]) -> list[list[HintPiece]]:
    found: list[list[HintPiece]] = []
    for line in lines:
        pieces: list[HintPiece] = []
        for item in line:
            pieces += [HintPiece(GAP)] if pieces else []
            pieces += _item_pieces(item)
        found.append(pieces)
    return found


def _item_pieces(item: str) -> Iterator[HintPiece]:
    words = item.split(" ")
    others = (at for at, word in enumerate(words) if not (is_key(word) or _RANGE.fullmatch(word)))
    count = next(others, len(words))
    keys = [word for word in words[:count] if is_key(word)]
    alone = keys[0] if len(words[:count]) == 1 and keys else ""
    for at, word in enumerate(words[:count]):
        yield HintPiece(word, is_key=True, presses=word if is_key(word) else "")
        if at < count - 1:
            yield HintPiece(" ")
    label = " ".join(["", *words[count:]] if count else words)
    if label:
        yield HintPiece(label, presses=alone)


def is_key(word: str) -> bool:
    name = key_name(word)
    return (
        len(word) == 1
        or "+" in name
        or name in _SPECIAL_KEYS
        or re.fullmatch(r"f\d+", name) is not None
    )


_COMMAND_KEYS = (
    (r"ralph approve` or `ralph reject [^`]*", "answer"),
    (r"ralph answer", "answer"),
    (r"ralph retry\b[^`]*", "retry"),
    (r"ralph release\b[^`]*", "hold"),
    (r"ralph (?:build|run|plan|validate)", "build"),
    (r"ralph (?:discover )?\"[^`\"]*\"", "request"),
    (r"ralph edit TASK --model NAME", "model"),
    (r"ralph edit(?: [^`]*)?", "edit"),
    (r"ralph status", "why"),
    (r"ralph history", "history"),
    (r"ralph inject", "inject"),
    (r"ralph import [^`]*", "import_plan"),
    (r"ralph resume", "pause"),
    (r"ralph stop", "stop"),
    (r"ralph tasks(?=` shows why)", "why"),
    (r"ralph tasks", "tasks"),
)
"""Patterns of shell commands that have a key on the screen, with the key's command. Other commands stay as they are."""

_TASK_COMMANDS = ("retry", "hold", "edit")

_COMMAND = re.compile(
    "|".join(f"(?P<k{at}>`{words}`)" for at, (words, _) in enumerate(_COMMAND_KEYS))
)


def commands_as_keys(keys: Keys, text: str, tone: Tone = Tone.TEXT) -> Line:
    """Replace shell commands in a sentence, such as `ralph retry TASK`, with the keys that do the same."""
    spans: list[Span] = []
    at = 0
    for found in _COMMAND.finditer(text):
        spans += [Span(text[at : found.start()], tone)] if found.start() > at else []
        name = _COMMAND_KEYS[int(str(found.lastgroup)[1:])][1]
        spans.append(Span(keys.label(name), Tone.KEY))
        task = found[0].strip("`").split()[2:3] if name in _TASK_COMMANDS else []
        spans += [Span(f" on {given}", tone) for given in task if given != "TASK"]
        at = found.end()
    return [*spans, Span(text[at:], tone)] if at < len(text) else spans


def commands_as_key_text(keys: Keys, text: str) -> str:
    return "".join(span.text for span in commands_as_keys(keys, text))
