"""Blocks of lines: what details and lists to choose from are made of."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from ralph_tui.tui.render.spans import Line, Span, Tone, plain


@dataclass(frozen=True, slots=True)
class Part:
    """A titled block; `key` names what it is about, where something can be done to it."""

    title: str
    lines: list[Line]
    key: Hashable = None


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that are one item of a list; one without a key cannot be chosen."""

    key: Hashable
    lines: list[Line]
    folds: bool = True
    """Lines that are too long go on below; else they are cut."""


def parts_text(parts: list[Part]) -> str:
    """Every part as plain text, for the clipboard."""
    return "\n\n".join(
        "\n".join([part.title, *(plain(line) for line in part.lines)]) for part in parts
    )


def parts_blocks(parts: Iterable[Part]) -> list[Block]:
    """Parts below each other, each under its title, with an empty line between."""
    return [
        Block(
            part.key,
            [
                [Span(part.title, Tone.INFO if part.key is None else Tone.TITLE)],
                *([Span("  "), *line] for line in part.lines),
                [],
            ],
        )
        for part in parts
    ]
