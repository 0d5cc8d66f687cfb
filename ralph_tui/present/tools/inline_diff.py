"""Draws the few lines of a change that stand below its call in the stream. Pure functions, bounded in time.

The stream asks for the height of every entry, so nothing here compares whole files: the lines that both sides
share at the start and the end are skipped, and only the first differing ones are looked at.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from ralph_tui.domain.formatting import plural
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.long_text import DiffLine
from ralph_tui.present.text.spans import Line, Span, Tone, crop
from ralph_tui.present.tools.calls import Call, CallState, Excerpt, count_lines, text_of
from ralph_tui.present.tools.file_tools import CHANGING, replacements

MOST = 6
"""Lines below a call, the one that counts the rest included."""

_LONGEST = 300
"""Characters of a line whose words are compared."""

_OUTPUT = 20_000
"""Characters of the output in which the line's number is looked for."""

_NUMBERED = re.compile(r"^ *(\d+)[→\t](.*)$", re.MULTILINE)
"""A line of the file as the tool shows it after an edit."""

_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)
_INDENT = 4
_NUMBER = 5


def inline_height(call: Call) -> int:
    """Count the lines below a call: none unless it changes a file."""
    return len(_excerpt(call)[0])


def excerpt_of(call: Call) -> Excerpt | None:
    """Return the lines below a call, to keep when its input is dropped; None where there are none."""
    sides, more = _excerpt(call)
    if not sides:
        return None
    cut = tuple(side._replace(text=side.text[:_LONGEST]) for side in sides)
    return Excerpt(cut, more, _first_number(call))


def inline_line(call: Call, index: int, width: int, glyphs: Glyphs) -> Line:
    """Draw one of these lines.

    Args:
        call: The call.
        index: Which of the lines, from 0.
        width: Cells of the line.
        glyphs: The signs to draw with.

    Returns:
        The line: number, sign and text, with the words that differ in color.
    """
    sides, more = _excerpt(call)
    if index >= len(sides):
        return []
    side = sides[index]
    before = " " * (_INDENT + _NUMBER + 1)
    if side.sign == "@":
        text = f"{before}{glyphs.ellipsis} {plural(more, 'more line')}; Enter shows all"
        return crop([Span(text, Tone.FAINT)], width, glyphs.ellipsis)
    first = _first_number(call)
    if first is not None:
        before = f"{' ' * _INDENT}{first + side.number + 1:>{_NUMBER}} "
    line = [Span(before, Tone.FAINT), *_colored(sides, index, call.state)]
    return crop(line, width, glyphs.ellipsis)


def _colored(sides: tuple[DiffLine, ...], index: int, state: CallState) -> Iterator[Span]:
    """Yield sign and words; a change that was not made has no colors."""
    side = sides[index]
    was_made = state in (CallState.OK, CallState.RUNNING, CallState.WAITING)
    tone = {"+": Tone.OK, "-": Tone.BAD}.get(side.sign, Tone.MUTED) if was_made else Tone.MUTED
    yield Span(f"{side.sign} ", tone)
    other = _counterpart(sides, index)
    if other is None or not was_made:
        yield Span(side.text, tone)
        return
    for word, differs in _compared(other, side.text):
        yield Span(word, tone if differs else Tone.TEXT)


def _counterpart(sides: tuple[DiffLine, ...], index: int) -> str | None:
    """Return the line that this one replaces, or is replaced by: the one at the same place in its block."""
    gone = [side.text for side in sides if side.sign == "-"]
    new = [side.text for side in sides if side.sign == "+"]
    here, there = (gone, new) if sides[index].sign == "-" else (new, gone)
    if sides[index].sign not in ("-", "+"):
        return None
    place = sum(1 for side in sides[:index] if side.sign == sides[index].sign)
    return there[place] if place < len(there) and len(here) == len(there) else None


@lru_cache(maxsize=256)
def _compared(other: str, text: str) -> tuple[tuple[str, bool], ...]:
    """Cut a line into pieces and say of each whether the other line lacks it."""
    if len(text) > _LONGEST or len(other) > _LONGEST:
        return ((text, True),)
    theirs, mine = _WORDS.findall(other), _WORDS.findall(text)
    found = SequenceMatcher(None, theirs, mine, autojunk=False)
    if found.ratio() < 0.4:
        return ((text, True),)
    return tuple(
        ("".join(mine[start:end]), kind != "equal")
        for kind, _, _, start, end in found.get_opcodes()
        if end > start
    )


def _excerpt(call: Call) -> tuple[tuple[DiffLine, ...], int]:
    """Return the lines to show, and how many changed lines there are besides."""
    if call.excerpt is not None:
        return call.excerpt.sides, call.excerpt.more
    if call.name not in CHANGING or call.trimmed:
        return (), 0
    if call.name == "Write":
        return _shown("", text_of(call.input, "content"))
    pairs = replacements(call)
    if not pairs:
        return (), 0
    sides, more = _shown(*pairs[0])
    others = sum(count_lines(old) + count_lines(new) for old, new in pairs[1:])
    if not others:
        return sides, more
    shown = [side for side in sides if side.sign != "@"]
    cut = shown[: MOST - 1]
    return (*cut, DiffLine("@")), more + others + len(shown) - len(cut)


@lru_cache(maxsize=512)
def _shown(old: str, new: str) -> tuple[tuple[DiffLine, ...], int]:
    """Return the lines to show, and how many more there are."""
    before, after = old.splitlines(), new.splitlines()
    least = min(len(before), len(after))
    start = next((i for i in range(least) if before[i] != after[i]), least)
    end = next((i for i in range(least - start) if before[-1 - i] != after[-1 - i]), least - start)
    gone, new_lines = before[start : len(before) - end], after[start : len(after) - end]
    if not gone and not new_lines:
        return (), 0
    context = [DiffLine(" ", after[start - 1], start - 1)] if start else []
    whole = len(context) + len(gone) + len(new_lines)
    room = MOST - len(context) - (whole > MOST)
    kept_new = min(len(new_lines), max(room - len(gone), room // 2))
    kept_gone = min(len(gone), room - kept_new)
    sides = [*context]
    sides += [DiffLine("-", text, start + i) for i, text in enumerate(gone[:kept_gone])]
    sides += [DiffLine("+", text, start + i) for i, text in enumerate(new_lines[:kept_new])]
    more = len(gone) + len(new_lines) - kept_gone - kept_new
    return (*sides, *([DiffLine("@")] if more else [])), more


def _first_number(call: Call) -> int | None:
    """Return how many lines of the file stand before the change, where the call tells."""
    if call.excerpt is not None:
        return call.excerpt.first
    if call.name == "Write":
        return 0
    pairs = replacements(call)
    first = pairs[0][1].partition("\n")[0] if pairs else ""
    if not first.strip():
        return None
    numbered = _NUMBERED.finditer(call.output[:_OUTPUT])
    found = next((match for match in numbered if match[2] == first), None)
    return int(found[1]) - 1 if found else None
