"""Gives a rule the invocation at hand, its scope, and a walker that judges what it starts."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import NoReturn, Protocol

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import SPLIT, deny
from ralph_tui.guard.core.working_dirs import WorkingDirs
from ralph_tui.guard.shell.nodes import UNKNOWN, UnreadableError, Word

MAX_DEPTH = 25
"""Levels of commands that start commands, beyond which a text counts as unreadable."""


class Walker(Protocol):
    """Judges what a command leads to; every method raises `DeniedError` on a refusal."""

    @property
    def source(self) -> str:
        """The text the agent sent."""
        ...

    @property
    def looked_for_ralph(self) -> bool:
        """Whether a command so far looked for ralph's processes."""
        ...

    def run(self, words: Sequence[Word], given: "Invocation", *, under_uv: bool = False) -> None:
        """Judge words that are executed as a command."""
        ...

    def assign(self, word: Word, given: "Invocation") -> None:
        """Judge `NAME=value` put into a command's environment."""
        ...

    def shell(self, text: Word, given: "Invocation", feed: Word | None = None) -> None:
        """Judge a text that a shell executes."""
        ...

    def written(self, file: Word, given: "Invocation") -> None:
        """Judge a script that the same command has just written, if it has."""
        ...


@dataclass(frozen=True)
class Scope:
    """Where a command is, and what holds there for everything that it starts.

    Attributes:
        places: The directories and variables of the shell that runs it.
        parameters: What `"$@"` represents in the function that runs it, None where that is not known.
        defining: Whether it is in the definition of a function, which is not called yet.
        under_uv: Whether `uv run` starts it.
        rewrites: Whether the project's tools are sent through uv.
        depth: How deep it is nested in commands that start others.
    """

    places: WorkingDirs
    parameters: tuple[Word, ...] | None = None
    defining: bool = False
    under_uv: bool = False
    rewrites: bool = True
    depth: int = 0

    def fork(self) -> "Scope":
        """Return the scope of a subshell, whose directory and variables do not last."""
        return replace(self, places=self.places.fork())

    def deeper(self) -> "Scope":
        """Return the scope of what a command in this one starts.

        Raises:
            UnreadableError: That is nested too deeply.
        """
        if self.depth >= MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        return replace(self, depth=self.depth + 1)


@dataclass(frozen=True)
class Invocation:
    """One program about to start.

    Attributes:
        words: The program and its arguments.
        scope: Where it is.
        walker: Judges what it starts in turn.
        feed: What it reads from standard input, None if nothing is given to it.
    """

    words: tuple[Word, ...]
    scope: Scope
    walker: Walker
    feed: Word | None = None

    @property
    def places(self) -> WorkingDirs:
        """Where it runs."""
        return self.scope.places

    @property
    def policy(self) -> Policy:
        """What it is held to."""
        return self.scope.places.policy

    @property
    def under_uv(self) -> bool:
        """Whether `uv run` starts it."""
        return self.scope.under_uv

    def at(self, places: WorkingDirs) -> "Invocation":
        """Return the same program in other directories."""
        return replace(self, scope=replace(self.scope, places=places))

    def in_uv(self) -> "Invocation":
        """Return the same program as `uv run` starts it."""
        return replace(self, scope=replace(self.scope, under_uv=True))

    @property
    def arguments(self) -> tuple[Word, ...]:
        """The words after the program."""
        return self.words[1:]

    @cached_property
    def program(self) -> str:
        """The program's plain name, in lower case: some file systems do not tell `GIT` from `git`."""
        name = self.words[0].text.rstrip("/").rpartition("/")[2].casefold().strip()
        return name.removesuffix(".exe")

    @cached_property
    def shown(self) -> str:
        """The command in one line, for a denial."""
        return " ".join(word.raw or word.text for word in self.words[:50]).replace(UNKNOWN, "…")


Rule = Callable[[Invocation], None]
"""Judges one kind of program; raises `DeniedError` on a refusal."""

Rules = Mapping[str, Rule]
"""Rules by the names of programs."""


def unreadable_part(shown: str, why: str) -> NoReturn:
    """Refuse what cannot be read with certainty.

    Raises:
        DeniedError: Always.
    """
    deny("unreadable-command", shown, why, SPLIT)


def base_of(word: Word) -> int:
    """Return the index of the word's value in what the agent sent, -1 unless it is there verbatim."""
    if word.start < 0:
        return -1
    if word.raw == word.text:
        return word.start
    text = word.text.removesuffix("\n")  # which a here-string adds
    if word.raw == text:
        return word.start
    quoted = word.raw[:1] in ("'", '"') and word.raw[1:-1] == text
    return word.start + 1 if quoted and word.raw[:1] == word.raw[-1:] else -1


def check_all(words: Sequence[Word], given: Invocation, *, into: bool = False) -> None:
    """Refuse to write any of these; with `into` they may be directories that something is put into.

    Raises:
        DeniedError: One of them is guarded or outside the project.
    """
    for word in words:
        if word.text:  # as in BSD's `sed -i ''`
            given.places.check_write(word, given.shown, into=into)


def last_operand(operands: Sequence[Word]) -> list[Word]:
    """Return the last operand; one that may vanish leaves its place to the one before it."""
    at = max(len(operands) - 1, 0)
    while at > 0 and operands[at].text == UNKNOWN and operands[at].may_split:
        at -= 1
    return list(operands[at:])


_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("uv uvx"), names("--directory")),
        **dict.fromkeys(names("make gmake"), names("-C --directory")),
        **dict.fromkeys(names("npm npx"), names("-C --prefix")),
        "pnpm": names("-C --dir"),
        "yarn": names("--cwd"),
        "bun": names("--cwd"),
        "just": names("-d --working-directory"),
        "task": names("-d --dir"),
        "mise": names("-C --cd"),
        **dict.fromkeys(names("cargo go ninja meson rake poe"), names("-C")),
        **dict.fromkeys(names("gradle gradlew"), names("-p --project-dir")),
        **dict.fromkeys(names("terraform tofu"), names("-chdir")),
        "mvn": names("-f --file"),
    }
)


def directed(given: Invocation) -> Invocation:
    """Move the invocation to the directory that the program's options name.

    Raises:
        DeniedError: The directory is ralph's, git's or the CLI's own.
    """
    options = _OPTIONS.get(given.program)
    chosen = list(_chosen(given.arguments, options)) if options else []
    for directory in chosen:
        given.places.check_guarded(directory, given.shown)
    return moved(given, chosen)


def moved(given: Invocation, directories: Sequence[Word]) -> Invocation:
    """Move the invocation to these directories, one after the other."""
    if not directories:
        return given
    places = given.places.fork()
    for directory in directories:
        places.move(directory, certain=True)
    return given.at(places)


def _chosen(words: Sequence[Word], options: frozenset[str]) -> Iterator[Word]:
    """List the values of these options. Words after `--` belong to another program."""
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
