"""Defines what a rule receives: an invocation, and a walker that judges what it starts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn, Protocol

from ralph_tui.guard.core.arguments import Arguments, parse
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.programs import Program, program_named
from ralph_tui.guard.core.verdicts import SPLIT, deny
from ralph_tui.guard.core.working_dirs import WorkingDirs
from ralph_tui.guard.shell.nodes import UNKNOWN, UnreadableError, Word

MAX_DEPTH = 25
"""The most levels of commands that start commands; deeper text counts as unreadable."""


class Walker(Protocol):
    """Judges what a command starts in turn; every method raises `DeniedError` to refuse."""

    @property
    def source(self) -> str: ...

    def run(self, words: Sequence[Word], call: "Invocation", *, under_uv: bool = False) -> None: ...

    def assign(self, word: Word, call: "Invocation") -> None: ...

    def shell(self, text: Word, call: "Invocation", feed: Word | None = None) -> None: ...


@dataclass(frozen=True)
class Invocation:
    """A program about to start, in its context, which what it starts inherits. A context alone has no words.

    Attributes:
        dirs: The working directories and variables of its shell.
        walker: Judges what it starts in turn.
        feed: Its standard input; None if nothing is fed to it.
        parameters: The value of `"$@"` in the enclosing function; None if unknown.
        defining: Whether it is in a function that is only being defined.
        under_uv: Whether `uv run` starts it.
        certain: Whether the next command runs only if this one succeeds.
        depth: The number of commands it is nested in.
    """

    words: tuple[Word, ...]
    dirs: WorkingDirs
    walker: Walker
    feed: Word | None = None
    parameters: tuple[Word, ...] | None = None
    defining: bool = False
    under_uv: bool = False
    certain: bool = False
    depth: int = 0

    @property
    def policy(self) -> Policy:
        return self.dirs.policy

    def fork(self) -> "Invocation":
        return replace(self, dirs=replace(self.dirs))

    def deeper(self) -> "Invocation":
        if self.depth >= MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        return replace(self, depth=self.depth + 1, certain=False)

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.words[1:]

    @cached_property
    def program(self) -> str:
        """The program's base name in lower case, because some file systems ignore case."""
        name = self.words[0].text.rstrip("/").rpartition("/")[2].casefold().strip()
        return name.removesuffix(".exe")

    @cached_property
    def listed(self) -> Program:
        return program_named(self.program)

    @cached_property
    def args(self) -> Arguments:
        return parse(self.arguments, self.listed.spec, stop=self.listed.stop)

    @cached_property
    def shown(self) -> str:
        return " ".join(word.raw or word.text for word in self.words[:50]).replace(UNKNOWN, "…")


Rule = Callable[[Invocation], None]

Rules = Mapping[str, Rule]


def refuse_unreadable(shown: str, why: str) -> NoReturn:
    deny("unreadable-command", shown, why, SPLIT)


def source_index(word: Word) -> int:
    """Return the index of the word's value in the agent's text, or -1 unless it occurs there verbatim."""
    if word.start < 0:
        return -1
    if word.raw == word.text:
        return word.start
    text = word.text.removesuffix("\n")  # which a here-string adds
    if word.raw == text:
        return word.start
    quoted = word.raw[:1] in ("'", '"') and word.raw[1:-1] == text
    return word.start + 1 if quoted and word.raw[:1] == word.raw[-1:] else -1


def check_writes(words: Sequence[Word], call: Invocation, *, into: bool = False) -> None:
    for word in words:
        if word.text:  # as in BSD's `sed -i ''`
            call.dirs.check_write(word, call.shown, into=into)


def in_named_directory(call: Invocation) -> Invocation:
    chosen = list(_option_values(call.arguments, call.listed.chdir))
    for directory in chosen:
        call.dirs.check_guarded(directory, call.shown)
    return in_directories(call, chosen)


def in_directories(call: Invocation, directories: Sequence[Word]) -> Invocation:
    if not directories:
        return call
    call = call.fork()
    for directory in directories:
        call.dirs.move(directory, certain=True)
    return call


def _option_values(words: Sequence[Word], options: frozenset[str]) -> Iterator[Word]:
    for at, word in enumerate(words):
        name, equals, _ = word.text.partition("=")
        if word.text == "--":
            return
        if name in options and equals:
            yield word.cut(len(name) + 1)
        elif name in options:
            yield from words[at + 1 : at + 2]
        elif word.text[:2] in options and not re.match(r"--|-\w$", word.text):
            yield word.cut(2)
