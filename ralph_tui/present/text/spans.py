"""Cut, pad and fold lines of toned spans by cell width, and make their text safe. Pure functions.

A span's text may come from a model, a tool or a file. Only the widgets' `to_segments` and `to_content`
bring spans to the terminal, and both make the text inert.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from ralph_tui.domain.sanitize import inert


class Tone(StrEnum):
    """The meaning of a piece of text. The style sheet decides how it looks."""

    TEXT = "text"
    MUTED = "muted"
    FAINT = "faint"
    TITLE = "title"
    HEADING = "heading"
    ACCENT = "accent"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"
    INFO = "info"
    KEY = "key"
    """The name of a key in a sentence; clicking it presses that key."""
    ADDED = "added"
    REMOVED = "removed"
    """The sign of a diff line. The text after it has the background of the change, up to a faint span."""
    ADDED_WORD = "added-word"
    REMOVED_WORD = "removed-word"
    """Words of a changed line that the other version of the line does not have."""
    CODE_COMMENT = "code-comment"
    CODE_KEYWORD = "code-keyword"
    CODE_NAME = "code-name"
    CODE_NUMBER = "code-number"
    CODE_STRING = "code-string"


GROUNDS = frozenset({Tone.ADDED, Tone.REMOVED})
"""Tones that give the rest of their line a background."""


class Span(NamedTuple):
    """Text with one tone."""

    text: str
    tone: Tone = Tone.TEXT


Line = Sequence[Span]

Cut = Callable[[Line, int, str], list[Span]]
"""Cuts a line to a number of cells and marks the cut with an ellipsis."""

EXPORT_WIDTH = 160
"""Cells of a line in an exported file."""


def plain(line: Line) -> str:
    return "".join(span.text for span in line)


def flat(text: str) -> str:
    return inert(text).replace("\n", " ").replace("\t", "    ")


def width_of(line: Line) -> int:
    return sum(cell_len(span.text) for span in line)


def crop(line: Line, width: int, ellipsis: str = "…") -> list[Span]:
    """Cut a line to at most `width` cells, with an ellipsis if it was cut.

    The text is made safe before the cut, because half an escape sequence would not be recognized.
    """
    line = [Span(flat(text), tone) for text, tone in line]
    if width_of(line) <= width:
        return line
    if width <= 0:
        return []
    room = width - 1
    kept: list[Span] = []
    for span in line:
        size = cell_len(span.text)
        if size > room:
            kept.append(Span(set_cell_size(span.text, room).rstrip() + ellipsis, span.tone))
            return kept
        kept.append(span)
        room -= size
    return kept


def crop_words(line: Line, width: int, ellipsis: str = "…") -> list[Span]:
    """Cut like `crop`, but between words if at least two thirds of the cells stay used."""
    cut = crop(line, width, ellipsis)
    if width_of(line) <= width or not cut:
        return cut
    *kept, last = cut
    text = last.text.removesuffix(ellipsis)
    after = flat(line[len(kept)].text)[len(text) : len(text) + 1]
    words = (text if after in _BREAKS else text.rpartition(" ")[0]).rstrip(f"{_BREAKS}.")
    whole = [*kept, Span(words + ellipsis, last.tone)] if words or text.startswith(" ") else cut
    return whole if width_of(whole) * 3 >= width * 2 else cut


_BREAKS = " ,;:"


def crop_path(path: str, width: int, ellipsis: str = "…") -> str:
    """Shorten a path by its first directories, because its end says more."""
    parts = flat(path).split("/")
    while len(parts) > 2 and cell_len("/".join(parts)) > width:
        parts = [ellipsis, *parts[2:]]
    return "/".join(parts)


def crop_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """Shorten a command in the middle, because the program and the end say most."""
    flat_text = flat(text)
    if cell_len(flat_text) <= width:
        return flat_text
    end = set_cell_size(flat_text[::-1], max(0, (width - len(ellipsis)) * 2 // 3))[::-1]
    return plain(crop([Span(flat_text)], max(0, width - cell_len(end)), ellipsis)) + end


def row(left: Line, right: Line, width: int, ellipsis: str = "…", cut: Cut = crop) -> list[Span]:
    """Return a row with `left`, cut to fit, and `right`, cut to at most half of the row, at its ends."""
    left, right = [Span(flat(t), s) for t, s in left], [Span(flat(t), s) for t, s in right]
    right_width = width_of(right)
    if right_width > width // 2:
        right = crop(right, width // 2, ellipsis)
        right_width = width_of(right)
    gap = 1 if right else 0
    left = cut(left, width - right_width - gap, ellipsis)
    fill = max(0, width - width_of(left) - right_width)
    return [*left, Span(" " * fill), *right]


def wrap(text: str, width: int) -> list[str]:
    """Return the text, made inert, folded to `width` cells at spaces. Too long words are broken."""
    width = max(1, width)
    lines: list[str] = []
    for paragraph in map(str.rstrip, inert(text).expandtabs(4).split("\n")):
        if cell_len(paragraph) <= width:
            lines.append(paragraph)
            continue
        words = paragraph.lstrip(" ")
        indent = " " * min(len(paragraph) - len(words), width // 2, max(0, width - 2))
        rows = _rows(indent + words, width, width - len(indent), len(indent))
        texts = ((indent + words)[start:end].rstrip() for start, end in rows)
        lines += (f"{indent if at else ''}{row}" for at, row in enumerate(texts))
    return lines


def fold(line: Line, width: int) -> list[list[Span]]:
    """Fold a toned line to `width` cells. Its last span wraps under itself if there is room.

    A changed line of a diff is folded with `hang` below its sign, in the background of the change.
    """
    ground = next((at for at, span in enumerate(line) if span.tone in GROUNDS), None)
    if ground is not None:
        return [to_edge(row, width) for row in hang(line, ground + 1, width)]
    if width_of(line) <= width:
        return [list(line)]
    last = line[-1].text
    return flow(line, width, width_of(line[:-1]) + len(last) - len(last.lstrip(" ")))


def hang(line: Line, gutter: int, width: int) -> list[list[Span]]:
    """Fold a line of a diff. Further rows have an empty gutter in the background of the change.

    No character is lost at a fold, so the rows can be joined again.
    """
    before, text = list(line[:gutter]), [Span(flat(text), tone) for text, tone in line[gutter:]]
    below = [
        Span(" " * cell_len(sign), tone if tone in GROUNDS else Tone.TEXT) for sign, tone in before
    ]
    room = max(1, width - width_of(before))
    rows = _rows(plain(text), room, room, keeps=True)
    return [[*(below if start else before), *_part(text, start, end)] for start, end in rows]


def to_edge(line: Line, width: int) -> list[Span]:
    missing = width - width_of(line)
    has_background = any(tone in GROUNDS for _, tone in line)
    return [*line, Span(" " * missing)] if has_background and missing > 0 else list(line)


def flow(line: Line, width: int, indent: int = 0) -> list[list[Span]]:
    """Fold a toned line at spaces, keeping the tone of every word. Lines after the first are indented."""
    safe, width = [Span(flat(text), tone) for text, tone in line], max(1, width)
    if width_of(safe) <= width:
        return [safe]
    indent = indent if indent <= width // 2 and indent < width - 1 else 0
    below = [Span(" " * indent)] if indent else []
    rows = _rows(plain(safe), width, width - indent, indent)
    return [[*(below if start else ()), *_part(safe, start, end)] for start, end in rows]


def _rows(
    text: str, first: int, room: int, fixed: int = 0, *, keeps: bool = False
) -> Iterator[tuple[int, int]]:
    """Yield where each row of a folded text begins and ends."""
    at, size, is_plain = 0, first, text.isascii()
    while True:
        end = min(len(text), at + size)
        if not is_plain and cell_len(text[at:end]) > size:
            end = at + max(1, len(chop_cells(text[at:end], size)[0]))
        if end < len(text) and (keeps or text[end] != " "):
            space = text.rfind(" ", at + fixed, end)
            end = space + 1 if text[at : max(at, space)].strip() else end
        yield at, end
        at, size, fixed = end, room, 0
        while not keeps and text[at : at + 1] == " ":
            at += 1
        if at >= len(text):
            return


def _part(line: Line, start: int, end: int) -> list[Span]:
    found, begin = [], 0
    for text, tone in line:
        if shown := text[max(0, start - begin) : max(0, end - begin)]:
            found.append(Span(shown, tone))
        begin += len(text)
    return found


CHUNK_LINES = 100
CHUNK_CHARACTERS = 5_000
"""The size of a chunk of a long text: more than a screen, but laid out in a few milliseconds."""


def text_chunks(text: str, first: int = CHUNK_LINES) -> Iterator[str]:
    """Yield a text in chunks of at most `CHUNK_LINES` lines; the first chunk has at most `first` lines.

    Lines longer than a chunk are cut at a space, or anywhere if they have none.
    """
    kept: list[str] = []
    size, most = 0, first
    for line in _short_lines(text):
        if kept and (len(kept) == most or size + len(line) > CHUNK_CHARACTERS):
            yield "\n".join(kept)
            kept, size, most = [], 0, CHUNK_LINES
        kept.append(line)
        size += len(line) + 1
    if kept:
        yield "\n".join(kept)


def _short_lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        at = 0
        while len(line) - at > CHUNK_CHARACTERS:
            space = line.rfind(" ", at, at + CHUNK_CHARACTERS)
            end = space + 1 if space > at else at + CHUNK_CHARACTERS
            yield line[at:end]
            at = end
        yield line[at:]
