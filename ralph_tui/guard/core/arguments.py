"""Parses arguments as programs do, into options with their values and operands."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.guard.shell.nodes import UNKNOWN, Word


def read_data(name: str) -> str:
    return (Path(__file__).parents[1] / "data" / name).read_text(encoding="utf-8")


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Spec:
    """The options of a program that take a value.

    Attributes:
        short: Letters whose value is attached or the next word.
        attached: Letters whose value can only be attached (`-U3`).
        digits: Letters that may be followed by digits, then by more letters (perl's `-0777ne`).
        long: Long options, with dashes, whose value may be the next word.
    """

    short: str = ""
    attached: str = ""
    long: frozenset[str] = frozenset()
    digits: str = ""


NO_VALUES = Spec()
_BLANK = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Option:
    """An option such as `-n` or `--output`, with its value if any, and the word it came from."""

    name: str
    value: Word | None
    word: Word


@dataclass(frozen=True, slots=True)
class Arguments:
    """The options and operands of a command."""

    options: tuple[Option, ...]
    operands: tuple[Word, ...]

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    def values(self, *names: str) -> list[Word]:
        return [o.value for o in self.options if o.name in names and o.value is not None]

    def as_text(self) -> str:
        """Return the operands, then each option as written and by its name, for expressions to match.

        `_` is in the place of blanks in a word, and of a dash that does not begin an option.
        """
        words = [re.sub(r"\s|^-", "_", word.text) for word in self.operands]
        for option in self.options:
            words.append(_BLANK.sub("_", option.word.text))
            value = "" if option.value is None else f"={_BLANK.sub('_', option.value.text)}"
            if option.name + value != words[-1]:
                words.append(option.name + value)
        return " ".join(words)


def parse(words: Sequence[Word], spec: Spec = NO_VALUES, *, stop: bool = False) -> Arguments:
    """Parse the words after the program's name; with `stop`, the first operand ends the options."""
    options: list[Option] = []
    operands: list[Word] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text
        if text == "--":
            operands.extend(words[at:])
            break
        if not text.startswith("-") or text == "-":
            operands.append(word)
            if stop:
                operands.extend(words[at:])
                break
            continue
        read = _long if text.startswith("--") else _short
        found, takes_next = read(word, spec)
        if takes_next and at < len(words):
            found[-1] = Option(found[-1].name, words[at], word)
            at += 1
        options.extend(found)
    return Arguments(tuple(options), tuple(operands))


def _long(word: Word, spec: Spec) -> tuple[list[Option], bool]:
    name, equals, _ = word.text.partition("=")
    if equals:
        return [Option(name, word.cut(len(name) + 1), word)], False
    takes = any(option.startswith(name) for option in spec.long)
    return [Option(name, None, word)], takes


def _short(word: Word, spec: Spec) -> tuple[list[Option], bool]:
    found: list[Option] = []
    numbered = False
    for at, letter in enumerate(word.text[1:], start=1):
        if numbered and letter.isdigit():
            continue
        numbered = letter in spec.digits
        rest = at + 1 < len(word.text)
        if letter in spec.attached or letter == UNKNOWN:
            found.append(Option("-" + letter, word.cut(at + 1) if rest else None, word))
            break
        if letter in spec.short:
            found.append(Option("-" + letter, word.cut(at + 1) if rest else None, word))
            return found, not rest
        found.append(Option("-" + letter, None, word))
    return found, False


def abbreviates(name: str, options: frozenset[str]) -> set[str]:
    return {name} if name in options else {o for o in options if o.startswith(name)}
