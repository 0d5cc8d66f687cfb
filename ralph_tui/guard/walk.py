"""What the rules for single programs are given: the command at hand, and a way to judge what it starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, Protocol

from ralph_tui.guard.places import Places
from ralph_tui.guard.policy import Policy
from ralph_tui.guard.syntax import UNKNOWN, Word
from ralph_tui.guard.verdicts import SPLIT, deny


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
class Invocation:
    """One program about to start.

    Attributes:
        words: The program and its arguments.
        places: Where it runs.
        policy: What it is held to.
        walker: Judges what it starts in turn.
        feed: What it reads from standard input, None if nothing is given to it.
        under_uv: Whether `uv run` starts it.
    """

    words: tuple[Word, ...]
    places: Places
    policy: Policy
    walker: Walker
    feed: Word | None = None
    under_uv: bool = False

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


def unreadable_part(shown: str, why: str) -> NoReturn:
    """Refuse what cannot be read with certainty.

    Raises:
        DeniedError: Always.
    """
    deny("unreadable-command", shown, why, SPLIT)


def base_of(word: Word) -> int:
    """Where the word's value begins in what the agent sent, -1 unless it stands there verbatim."""
    if word.start < 0:
        return -1
    if word.raw == word.text:
        return word.start
    text = word.text.removesuffix("\n")  # which a here-string adds
    if word.raw == text:
        return word.start
    quoted = word.raw[:1] in ("'", '"') and word.raw[1:-1] == text
    return word.start + 1 if quoted and word.raw[:1] == word.raw[-1:] else -1
