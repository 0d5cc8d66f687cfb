"""Draw the few lines of a change that the stream shows below its call. Pure functions, bounded in time."""

from functools import lru_cache
from typing import NamedTuple

from ralph_tui.domain.formatting import plural
from ralph_tui.present.text.diffs import FOLD, NUMBER, Diff, DiffLine, read_diff
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, crop
from ralph_tui.present.tools.calls import Call, CallState
from ralph_tui.present.tools.file_tools import CHANGING, change_of
from ralph_tui.present.tools.renderers import renderer_for

MOST = 6
"""Maximum lines below a call, including the one that counts the rest."""

_LONGEST = 300

_INDENT = 4
_MADE_STATES = frozenset({CallState.OK, CallState.RUNNING, CallState.WAITING})


class Excerpt(NamedTuple):
    """The lines of a change that are shown below its call."""

    sides: tuple[DiffLine, ...] = ()
    more: int = 0
    """How many further lines changed."""


def inline_height(call: Call) -> int:
    """Return the number of lines below a call; 0 unless the call changes a file."""
    excerpt = _excerpt(call)
    return len(excerpt.sides) + bool(excerpt.more)


def inline_line(call: Call, index: int, width: int, glyphs: Glyphs) -> Line:
    """Draw one of the lines below a call: number, sign and text, with changed words in color."""
    sides, more = _excerpt(call)
    indent = Span(" " * _INDENT)
    if index < len(sides):
        path = renderer_for(call).argument(call)
        drawn = _diff_of(sides, path, made=call.state in _MADE_STATES).line(index, glyphs)
        return crop([indent, *drawn], width, glyphs.ellipsis)
    if index == len(sides) and more:
        text = f"{'':{NUMBER}} {glyphs.ellipsis} {plural(more, 'more line')}; Enter shows all"
        return crop([indent, Span(text, Tone.MUTED)], width, glyphs.ellipsis)
    return []


_diff_of = lru_cache(maxsize=256)(Diff)


def _excerpt(call: Call) -> Excerpt:
    return _choose_lines(change_of(call)) if call.name in CHANGING else Excerpt()


@lru_cache(maxsize=512)
def _choose_lines(change: str) -> Excerpt:
    sides = [side._replace(text=side.text[:_LONGEST]) for side in read_diff(change.splitlines())]
    changed = [index for index, side in enumerate(sides) if side.sign in ("-", "+")]
    if not changed:
        return Excerpt()
    first, last = changed[0], changed[-1]
    before = sides[first - 1] if first else DiffLine(FOLD)
    start = first - 1 if before.sign != FOLD and before.text.strip() else first
    if last + 1 - start <= MOST:
        return Excerpt(tuple(sides[start : last + 1]))
    end = next((i for i in range(first, last) if sides[i].sign not in ("-", "+")), last + 1)
    gone = [side for side in sides[first:end] if side.sign == "-"]
    new = [side for side in sides[first:end] if side.sign == "+"]
    room = MOST - 1 - (first - start)
    kept_new = min(len(new), max(room - len(gone), room // 2))
    kept = [*gone[: room - kept_new], *new[:kept_new]]
    return Excerpt((*sides[start:first], *kept), len(changed) - len(kept))
