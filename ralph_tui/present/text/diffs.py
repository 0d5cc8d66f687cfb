"""Draw code with syntax colors, and diffs with line numbers, signs and highlighted words.

The stream, the preview, the list of changed files and the detail of a call all draw diffs with `Diff`.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from ralph_tui.domain.formatting import plural
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone

if TYPE_CHECKING:
    from pygments.lexer import Lexer

FOLD = "@"

NUMBER = 5

GUTTER = NUMBER + 3
"""Cells of the line number and the sign, before a line's text."""

_MAX_COMPARED = 300
"""Words are compared only in lines of at most this many characters."""

_MIN_SIMILARITY = 0.4
"""Lines with less similarity, from 0 to 1, count as entirely different."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


AT_ONCE = 5_000
"""Longer code is colored in a thread: ten times as many characters take a tenth of a second."""

_TONES = {
    "Token.Comment": Tone.CODE_COMMENT,
    "Token.Keyword": Tone.CODE_KEYWORD,
    "Token.Literal.Number": Tone.CODE_NUMBER,
    "Token.Literal.String": Tone.CODE_STRING,
    "Token.Name.Class": Tone.CODE_NAME,
    "Token.Name.Decorator": Tone.CODE_NAME,
    "Token.Name.Function": Tone.CODE_NAME,
}
"""Only a few colors, so that added and removed lines remain the most visible part of a diff."""


@lru_cache(maxsize=128)
def code_lines(text: str, path: str) -> tuple[Line, ...]:
    """Return each line of a text as spans, colored if the file's name reveals its language."""
    uncolored = tuple([Span(line)] for line in text.split("\n"))
    lexer = _lexer(PurePath(path).name)
    if lexer is None:
        return uncolored
    lines: list[list[Span]] = [[]]
    for token, piece in lexer.get_tokens(text):
        tone = _tone(str(token))
        first, *others = piece.split("\n")
        lines[-1].append(Span(first, tone))
        lines += [[Span(other, tone)] for other in others]
    # A lexer may treat other characters as line ends; then its lines do not match those of the text.
    return tuple(lines) if len(lines) == len(uncolored) else uncolored


@lru_cache(maxsize=256)
def _lexer(name: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_for_filename  # slow to import, so only if there is code
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _tone(token: str) -> Tone:
    while token:
        if token in _TONES:
            return _TONES[token]
        token = token.rpartition(".")[0]
    return Tone.TEXT


class DiffLine(NamedTuple):
    """A line of a diff: its sign (` `, `-`, `+` or `@` for a fold), text and number in the file."""

    sign: str
    text: str = ""
    number: int = 0
    """The line number, from 1; 0 if unknown."""


def read_diff(lines: Iterable[str]) -> list[DiffLine]:
    """Parse the lines of a unified diff. The headers of later hunks become folds."""
    was = now = end = 0
    found: list[DiffLine] = []
    for line in lines:
        sign, text = line[:1] or " ", line[1:]
        if sign not in ("-", "+", " "):
            hunk = _HUNK.match(line)
            was, now = (int(hunk[1]), int(hunk[3])) if hunk else (0, 0)
            label = "" if hunk else line.strip("@\\ ")
            if hunk and end and was > end:
                label = plural(was - end, "unchanged line")
            if label or found:
                found.append(DiffLine(FOLD, label))
            continue
        found.append(DiffLine(sign, text, was if sign == "-" else now))
        was += bool(was) and sign != "+"
        now += bool(now) and sign != "-"
        end = was
    return found


class Diff:
    """Draws the lines of a diff one by one."""

    def __init__(self, sides: Sequence[DiffLine], path: str, *, made: bool = True) -> None:
        """Prepare to draw these lines.

        Args:
            path: The changed file, whose name reveals the language; empty for no syntax colors.
            made: Whether the change was made; otherwise it is drawn without colors.
        """
        self.sides = sides
        self.is_colored = sum(len(side.text) for side in sides) <= AT_ONCE
        """Whether syntax colors are shown. A long diff gets them from `color`."""
        self._path = path
        self._made = made

    @cached_property
    def _counterparts(self) -> dict[int, int]:
        """The removed line that an added one replaces, and the other way around."""
        found: dict[int, int] = {}
        gone: list[int] = []
        new: list[int] = []
        for index, side in enumerate((*self.sides, DiffLine(FOLD))):
            if side.sign == "+":
                new.append(index)
            elif side.sign == "-" and not new:
                gone.append(index)
            else:
                found.update((*zip(gone, new, strict=False), *zip(new, gone, strict=False)))
                gone, new = [index] if side.sign == "-" else [], []
        return found

    @cached_property
    def _code(self) -> dict[int, Line]:
        found: dict[int, Line] = {}
        for signs in ("- ", "+ "):
            chosen = [i for i, side in enumerate(self.sides) if side.sign in signs]
            text = "\n".join(self.sides[i].text for i in chosen)
            found.update(zip(chosen, code_lines(text, self._path), strict=False))
        return found

    def color(self) -> None:
        self._code  # noqa: B018 - the first access computes the property
        self.is_colored = True

    def line(self, index: int, glyphs: Glyphs) -> list[Span]:
        """Draw one line: its number, its sign and its text."""
        side = self.sides[index]
        if side.sign == FOLD:
            label = f"{glyphs.ellipsis} {side.text}".rstrip()
            return [Span(f"{'':{NUMBER}} {label}", Tone.MUTED)]
        number = Span(f"{side.number or '':>{NUMBER}} ", Tone.MUTED)
        tone = _SIGNS.get(side.sign, Tone.MUTED) if self._made else Tone.MUTED
        sign = Span(f"{side.sign} ", tone)
        if not self._made:
            return [number, sign, Span(side.text, Tone.MUTED)]
        code = self._code.get(index) if self.is_colored else None
        return [number, sign, *self._words(index, code or [Span(side.text)])]

    def _words(self, index: int, code: Line) -> Iterable[Span]:
        side, other = self.sides[index], self._counterparts.get(index)
        if (
            other is None
            or len(side.text) > _MAX_COMPARED
            or len(self.sides[other].text) > _MAX_COMPARED
        ):
            return code
        differing = _differing_ranges(self.sides[other].text, side.text)
        return _with_tone(code, differing, _WORD_TONES[side.sign])

    def lines(self, glyphs: Glyphs) -> list[Line]:
        return [self.line(index, glyphs) for index in range(len(self.sides))]


_SIGNS = {"+": Tone.ADDED, "-": Tone.REMOVED}
_WORD_TONES = {"+": Tone.ADDED_WORD, "-": Tone.REMOVED_WORD}


@lru_cache(maxsize=512)
def _differing_ranges(other: str, text: str) -> tuple[tuple[int, int], ...]:
    theirs, mine = _WORDS.findall(other), _WORDS.findall(text)
    found = SequenceMatcher(None, theirs, mine, autojunk=False)
    if found.ratio() < _MIN_SIMILARITY:
        return ()
    ends = [0]
    for word in mine:
        ends.append(ends[-1] + len(word))
    return tuple(
        (ends[start], ends[end])
        for kind, _, _, start, end in found.get_opcodes()
        if kind != "equal" and end > start
    )


def _with_tone(code: Line, ranges: Sequence[tuple[int, int]], tone: Tone) -> Iterable[Span]:
    edges = sorted({edge for both in ranges for edge in both})
    at = 0
    for text, own in code:
        inside = [edge - at for edge in edges if at < edge < at + len(text)]
        for start, end in zip([0, *inside], [*inside, len(text)], strict=True):
            is_over = any(first <= at + start < last for first, last in ranges)
            yield Span(text[start:end], tone if is_over else own)
        at += len(text)
