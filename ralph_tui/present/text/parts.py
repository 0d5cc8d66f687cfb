"""Group lines into parts and blocks, from which details and lists are built."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import overload

from ralph_tui.present.text.spans import Line, Span, Tone, fold, plain


@dataclass(frozen=True, slots=True)
class Part:
    """A titled group of lines. `key` identifies its subject, if a person can act on it."""

    title: str
    lines: list[Line]
    key: Hashable = None


class LazyLines(Sequence[Line]):
    """Lines that are built on access, because a list may have ten thousand of them."""

    __slots__ = ("_count", "_make")

    def __init__(self, make: Callable[[], Sequence[Line]], count: int = 1) -> None:
        self._make = make
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Line: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Line]: ...

    def __getitem__(self, at: int | slice) -> Line | Sequence[Line]:
        return self._make()[at]


@dataclass(frozen=True, slots=True)
class LineBlock:
    """The lines of one item of a list. A block without a key cannot be selected."""

    key: Hashable
    lines: Sequence[Line]
    folds: bool = True
    """Whether long lines are folded instead of cut."""

    def folded(self, width: int) -> "LineBlock":
        if not self.folds:
            return self
        lines = [piece for line in self.lines for piece in fold(line, width)]
        return LineBlock(self.key, lines, folds=False)


def parts_text(parts: list[Part]) -> str:
    return "\n\n".join(
        "\n".join([part.title, *(plain(line) for line in part.lines)]) for part in parts
    )


def parts_blocks(parts: Iterable[Part]) -> list[LineBlock]:
    """Return the parts as blocks, each with its title and an empty line after it."""
    return [
        LineBlock(
            part.key,
            [
                _title(part),
                *([Span("  "), *line] for line in part.lines),
                [],
            ],
        )
        for part in parts
    ]


def _title(part: Part) -> Line:
    """Return a part's title as two spans if text follows its name, so that this text wraps under itself."""
    tone = Tone.INFO if part.key is None else Tone.TITLE
    name, gap, rest = part.title.partition("  ")
    return [Span(name + gap, tone), Span(rest, tone)] if gap else [Span(name, tone)]
