"""Draws code in the colors of its language, and diffs: number, sign, and code in which the words that differ stand out.

The stream, the preview, the list of changed files and the detail of a call all draw diffs with `Diff`.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from ralph_tui.domain.formatting import plural
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone

if TYPE_CHECKING:
    from pygments.lexer import Lexer

FOLD = "@"
"""The sign of a line that represents lines that are not shown."""

NUMBER = 5
"""Cells of a line's number."""

GUTTER = NUMBER + 3
"""Cells before a line's text: its number, and its sign."""

_LONGEST = 300
"""Characters of a line whose words are compared."""

_ALIKE = 0.4
"""Two lines that share less are shown as different altogether, from 0 to 1."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,\d+)? @@")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


AT_ONCE = 5_000
"""Characters that are colored while somebody waits; ten times as many take a tenth of a second."""

_TONES = {
    "Token.Comment": Tone.CODE_COMMENT,
    "Token.Keyword": Tone.CODE_KEYWORD,
    "Token.Literal.Number": Tone.CODE_NUMBER,
    "Token.Literal.String": Tone.CODE_STRING,
    "Token.Name.Class": Tone.CODE_NAME,
    "Token.Name.Decorator": Tone.CODE_NAME,
    "Token.Name.Function": Tone.CODE_NAME,
}
"""Few colors, so that added and removed lines stay what is seen first in a diff."""


@lru_cache(maxsize=128)
def code_lines(text: str, path: str) -> tuple[Line, ...]:
    r"""Return each line of a text as spans, colored if the file's name tells its language.

    Args:
        text: Code, with `\n` between its lines.
        path: The file's name or path, such as `src/app.py`; only its end counts.
    """
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
    # A lexer may replace a character that ends lines elsewhere; then the lines would not be those of the text.
    return tuple(lines) if len(lines) == len(uncolored) else uncolored


@lru_cache(maxsize=256)
def _lexer(name: str) -> "Lexer | None":
    """Return what reads the language of a file of this name."""
    from pygments.lexers import get_lexer_for_filename  # not before there is code to show
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _tone(token: str) -> Tone:
    """Return the tone of a kind of token, or of the kind that it belongs to."""
    while token:
        if token in _TONES:
            return _TONES[token]
        token = token.rpartition(".")[0]
    return Tone.TEXT


class DiffLine(NamedTuple):
    """A line of a diff: its sign (` `, `-`, `+` or `@` for a fold), and its number in its file."""

    sign: str
    text: str = ""
    number: int = 0
    """From 1; 0 where nobody said it."""


class DiffRow(NamedTuple):
    """The indices of the line before and of the line after, beside each other; None where there is none."""

    before: int | None
    after: int | None


def read_diff(lines: Iterable[str]) -> list[DiffLine]:
    """Read each line of a unified diff; the header of a later hunk becomes a fold."""
    was = now = end = 0
    found: list[DiffLine] = []
    for line in lines:
        sign, text = line[:1] or " ", line[1:]
        if sign not in ("-", "+", " "):
            hunk = _HUNK.match(line)
            was, now = (int(hunk[1]), int(hunk[3])) if hunk else (0, 0)
            said = "" if hunk else line.strip("@\\ ")
            if hunk and end and was > end:
                said = plural(was - end, "unchanged line")
            if said or found:
                found.append(DiffLine(FOLD, said))
            continue
        found.append(DiffLine(sign, text, was if sign == "-" else now))
        was += bool(was) and sign != "+"
        now += bool(now) and sign != "-"
        end = was
    return found


def diff_rows(sides: Sequence[DiffLine]) -> list[DiffRow]:
    """Put removed lines beside the added lines that replace them."""
    rows: list[DiffRow] = []
    gone: list[int] = []
    new: list[int] = []

    def settle() -> None:
        rows.extend(DiffRow(*both) for both in zip_longest(gone, new))
        gone.clear()
        new.clear()

    for index, side in enumerate(sides):
        if side.sign == "-":
            if new:
                settle()
            gone.append(index)
        elif side.sign == "+":
            new.append(index)
        else:
            settle()
            rows.append(DiffRow(index, index))
    settle()
    return rows


class Diff:
    """The lines of a diff, drawn one by one.

    Attributes:
        sides: The lines.
    """

    def __init__(self, sides: Sequence[DiffLine], path: str, *, made: bool = True) -> None:
        """Draw these lines.

        Args:
            sides: The lines; their texts may be hostile.
            path: The changed file, whose name tells the language; empty for no colors of a language.
            made: Whether the change was made; one that was not has no colors.
        """
        self.sides = sides
        self.is_colored = sum(len(side.text) for side in sides) <= AT_ONCE
        """Whether the colors of the language are shown; a long diff gets them from `color`."""
        self._path = path
        self._made = made

    @cached_property
    def rows(self) -> list[DiffRow]:
        """The lines as two columns."""
        return diff_rows(self.sides)

    @cached_property
    def _others(self) -> dict[int, int]:
        """Each line that replaces another, with that other, both ways."""
        pairs = [r for r in self.rows if None not in r and r.before != r.after]
        return {
            here: there
            for row in pairs
            for here, there in (row, (row.after, row.before))
            if here is not None and there is not None
        }

    @cached_property
    def _code(self) -> dict[int, Line]:
        """Each line's code in the colors of the language."""
        found: dict[int, Line] = {}
        for signs in ("- ", "+ "):
            chosen = [i for i, side in enumerate(self.sides) if side.sign in signs]
            text = "\n".join(self.sides[i].text for i in chosen)
            found.update(zip(chosen, code_lines(text, self._path), strict=False))
        return found

    def color(self) -> None:
        """Color a long diff; may be called in a thread."""
        self._code  # noqa: B018 - it is made when it is first looked at
        self.is_colored = True

    def line(self, index: int, glyphs: Glyphs) -> list[Span]:
        """Draw one line: its number, its sign and its text.

        Args:
            index: Which of `sides`.
            glyphs: The signs to draw with.
        """
        side = self.sides[index]
        if side.sign == FOLD:
            said = f"{glyphs.ellipsis} {side.text}".rstrip()
            return [Span(f"{'':{NUMBER}} {said}", Tone.MUTED)]
        number = Span(f"{side.number or '':>{NUMBER}} ", Tone.MUTED)
        tone = _SIGNS.get(side.sign, Tone.MUTED) if self._made else Tone.MUTED
        sign = Span(f"{side.sign} ", tone)
        if not self._made:
            return [number, sign, Span(side.text, Tone.MUTED)]
        code = self._code.get(index) if self.is_colored else None
        return [number, sign, *self._words(index, code or [Span(side.text)])]

    def _words(self, index: int, code: Line) -> Iterable[Span]:
        """Return the code, with the words that the line beside it lacks in the color of the change."""
        side, other = self.sides[index], self._others.get(index)
        if other is None or len(side.text) > _LONGEST or len(self.sides[other].text) > _LONGEST:
            return code
        differing = _differing(self.sides[other].text, side.text)
        return _over(code, differing, _WORD_TONES[side.sign])

    def lines(self, glyphs: Glyphs) -> list[Line]:
        """Draw all lines."""
        return [self.line(index, glyphs) for index in range(len(self.sides))]


_SIGNS = {"+": Tone.ADDED, "-": Tone.REMOVED}
_WORD_TONES = {"+": Tone.ADDED_WORD, "-": Tone.REMOVED_WORD}


@lru_cache(maxsize=512)
def _differing(other: str, text: str) -> tuple[tuple[int, int], ...]:
    """Return where a line has words that the other lacks, as ranges of characters; none if all differs."""
    theirs, mine = _WORDS.findall(other), _WORDS.findall(text)
    found = SequenceMatcher(None, theirs, mine, autojunk=False)
    if found.ratio() < _ALIKE:
        return ()
    ends = [0]
    for word in mine:
        ends.append(ends[-1] + len(word))
    return tuple(
        (ends[start], ends[end])
        for kind, _, _, start, end in found.get_opcodes()
        if kind != "equal" and end > start
    )


def _over(code: Line, ranges: Sequence[tuple[int, int]], tone: Tone) -> Iterable[Span]:
    """Give ranges of characters another tone."""
    edges = sorted({edge for both in ranges for edge in both})
    at = 0
    for text, own in code:
        inside = [edge - at for edge in edges if at < edge < at + len(text)]
        for start, end in zip([0, *inside], [*inside, len(text)], strict=True):
            is_over = any(first <= at + start < last for first, last in ranges)
            yield Span(text[start:end], tone if is_over else own)
        at += len(text)
