"""Cut, pad and fold lines of toned spans by cell width, and make their text safe. Pure functions.

A span's text may come from a model, a tool or a file. Only the widgets' `to_segments` and `to_content`
bring spans to the terminal, and both make the text inert.
"""

import re
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
    """Cut like `crop`, but between words if possible."""
    cut = crop(line, width, ellipsis)
    if width_of(line) <= width or not cut:
        return cut
    *kept, last = cut
    text = last.text.removesuffix(ellipsis)
    after = flat(line[len(kept)].text)[len(text) : len(text) + 1]
    whole = text if after in _BREAKS else text.rpartition(" ")[0]
    words = whole.rstrip(f"{_BREAKS}.")
    return [*kept, Span(words + ellipsis, last.tone)] if words or text.startswith(" ") else cut


_BREAKS = " ,;:"


def crop_fair(line: Line, width: int, ellipsis: str = "…") -> list[Span]:
    cut = crop_words(line, width, ellipsis)
    return cut if width_of(cut) * 3 >= width * 2 else crop(line, width, ellipsis)


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
    """Return a row with `left` and `right` at its ends.

    Args:
        left: The left line; cut if both do not fit.
        right: The right line; cut only if it takes more than half of the row.
    """
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
    for paragraph in inert(text).expandtabs(4).split("\n"):
        lines.extend(_wrap_paragraph(paragraph.rstrip(), width))
    return lines


def _wrap_paragraph(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    # `len` is faster than `cell_len`, and a page may have a hundred thousand words.
    size_of = len if text.isascii() else cell_len
    indent = text[: len(text) - len(text.lstrip())][: min(width // 2, max(0, width - 2))]
    room = width - cell_len(indent)
    lines: list[str] = []
    current, used = indent, cell_len(indent)
    for word in text.split():
        size = size_of(word)
        gap = 1 if current.strip() else 0
        if used + gap + size <= width:
            current, used = current + " " * gap + word, used + gap + size
            continue
        if current.strip():
            lines.append(current)
        *whole, rest = chop_cells(word, room) if size > room else [word]
        lines.extend(indent + piece for piece in whole)
        current = indent + rest
        used = cell_len(current)
    return [*lines, current] if current.strip() else lines or [""]


def fold(line: Line, width: int) -> list[list[Span]]:
    """Fold a toned line to `width` cells. Its last span wraps under itself if there is room.

    A changed line of a diff is folded with `hang` below its sign, in the background of the change.
    """
    ground = next((at for at, span in enumerate(line) if span.tone in GROUNDS), None)
    if ground is not None:
        return [to_edge(row, width) for row in hang(line, ground + 1, width)]
    if width_of(line) <= width:
        return [list(line)]
    *before, last = line
    used = width_of(before)
    if used > width // 2:
        tone = max(line, key=lambda span: len(span.text)).tone
        return [[Span(text, tone)] for text in wrap(plain(line), width)]
    texts = wrap(last.text, width - used)
    below = [Span(" " * used)] if used else []
    return [[*(below if at else before), Span(text, last.tone)] for at, text in enumerate(texts)]


def hang(line: Line, gutter: int, width: int) -> list[list[Span]]:
    """Fold a line of a diff. Further rows have an empty gutter in the background of the change.

    No character is lost at a fold, so the rows can be joined again.
    """
    before, text = list(line[:gutter]), [Span(flat(text), tone) for text, tone in line[gutter:]]
    below = [
        Span(" " * cell_len(sign), tone if tone in GROUNDS else Tone.TEXT) for sign, tone in before
    ]
    room = max(1, width - width_of(before))
    return [[*(below if at else before), *piece] for at, piece in enumerate(_pieces(text, room))]


def to_edge(line: Line, width: int) -> list[Span]:
    missing = width - width_of(line)
    has_background = any(tone in GROUNDS for _, tone in line)
    return [*line, Span(" " * missing)] if has_background and missing > 0 else list(line)


def _pieces(line: Line, room: int) -> Iterator[list[Span]]:
    text, at = plain(line), 0
    while True:
        piece = text[at : at + room]
        while len(piece) > 1 and cell_len(piece) > room:
            piece = piece[:-1]
        is_last = at + len(piece) >= len(text)
        if not is_last and piece.strip() and " " in piece.lstrip():
            piece = piece[: piece.rindex(" ") + 1]
        found, begin = [], 0
        for part, tone in line:
            if shown := part[max(0, at - begin) : max(0, at + len(piece) - begin)]:
                found.append(Span(shown, tone))
            begin += len(part)
        yield found
        at += len(piece)
        if is_last:
            return


_WORDS = re.compile(r"\s+|\S+")


def flow(line: Line, width: int, indent: int = 0) -> list[list[Span]]:
    """Fold a toned line at spaces, keeping the tone of every word. Lines after the first are indented."""
    safe = [Span(flat(text), tone) for text, tone in line]
    if width_of(safe) <= width:
        return [safe]
    indent = indent if indent <= width // 2 and indent < width - 1 else 0
    room = width - indent
    lines: list[list[Span]] = [[]]
    used = 0
    for word in _words(safe):
        size = width_of(word)
        if used + size > width and used > (indent if len(lines) > 1 else 0):
            lines.append([Span(" " * indent)] if indent else [])
            used = indent
            if not plain(word).strip():
                continue
        for piece, tone in word:
            for part in chop_cells(piece, room) if cell_len(piece) > room else (piece,):
                if used + cell_len(part) > width and used > indent:
                    lines.append([Span(" " * indent)] if indent else [])
                    used = indent
                lines[-1].append(Span(part, tone))
                used += cell_len(part)
    return lines


def _words(line: Line) -> list[list[Span]]:
    words: list[list[Span]] = []
    for text, tone in line:
        for found in _WORDS.findall(text):
            joins = words and not found.isspace() and not words[-1][-1].text.isspace()
            if joins:
                words[-1].append(Span(found, tone))
            else:
                words.append([Span(found, tone)])
    return words


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
