"""Defines the nodes of parsed shell text: words after quote removal, commands, pipelines and scripts."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

UNKNOWN = "\0"
"""Represents the result of an expansion in a word's text; NUL cannot occur otherwise."""

Kind = Literal["u", "q", "x", "s"]
"""The kind of a character: unquoted, quoted, an expansion, an expansion that may become several words."""


class UnreadableError(Exception):
    """The text cannot be read as bash would, or bash would reject it."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word as the command would receive it.

    Attributes:
        text: The value, without quotes, with expansions replaced by `UNKNOWN`.
        kinds: One `Kind` per character of `text`.
        raw: The source text.
        start: Its index in the agent's text; -1 unless it occurs there.
        scripts: The command and process substitutions inside.
        feeds: Whether the word contains `<(…)`, a file to read the output of a command from.
    """

    text: str
    kinds: str = ""
    raw: str = ""
    start: int = -1
    scripts: "tuple[Script, ...]" = ()
    feeds: bool = False

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.text and not self.has_glob

    @property
    def has_glob(self) -> bool:
        wild = [c for c, k in zip(self.text, self.kinds, strict=True) if k == "u" and c in "*?[]"]
        return "*" in wild or "?" in wild or ("[" in wild and "]" in wild[wild.index("[") :])

    @property
    def may_split(self) -> bool:
        return "s" in self.kinds or self.has_glob

    @property
    def bare(self) -> bool:
        return set(self.kinds) <= {"u"}

    @property
    def home(self) -> bool:
        return self.text.startswith("~") and self.kinds.startswith("u")

    def cut(self, start: int) -> "Word":
        return Word(self.text[start:], self.kinds[start:], self.raw, -1, (), self.feeds)


def literal(text: str) -> Word:
    return Word(text, "q" * len(text), text)


def expanded(text: str, raw: str = "") -> Word:
    """Return a quoted word, in which `UNKNOWN` represents an expansion."""
    return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), raw or text)


def anything(raw: str = "") -> Word:
    return Word(UNKNOWN, "s", raw)


@dataclass(slots=True)
class Redirect:
    """A redirection; the body of a here-document is set once its line has ended."""

    operator: str
    target: Word
    descriptor: str = ""
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value` before a command, or as an argument of `export` and the like."""

    name: str
    value: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """A simple command."""

    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    raw: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class Compound:
    """A group, loop, condition, test or function definition; `name` is the function or loop variable."""

    kind: str
    bodies: "tuple[Script, ...]" = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    name: str = ""


Command = Simple | Compound


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by pipes, and the operator that follows.

    `spans` has the start and end of each stage in the agent's text.
    """

    stages: tuple[Command, ...]
    operator: str = ""
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A list of pipelines."""

    pipelines: tuple[Pipeline, ...] = ()

    def commands(self) -> Iterator[Command]:
        for pipeline in self.pipelines:
            yield from pipeline.stages


@dataclass(slots=True)
class WordBuilder:
    """Collects the characters of a word with their kinds."""

    text: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    scripts: list[Script] = field(default_factory=list)
    feeds: bool = False
    quoted: bool = False

    def add(self, text: str, kind: Kind) -> None:
        self.text.append(text)
        self.kinds.append(kind * len(text))
        self.quoted = self.quoted or kind == "q"

    def unknown(self, *, split: bool) -> None:
        self.add(UNKNOWN, "s" if split else "x")

    def word(self, raw: str, start: int) -> Word:
        text, kinds = "".join(self.text), "".join(self.kinds)
        return Word(text, kinds, raw, start, tuple(self.scripts), self.feeds)
