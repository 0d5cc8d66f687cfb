"""The list of features as a table; columns that do not fit are left out. Pure functions."""

from collections.abc import Sequence

from ralph_tui.domain.features import FeatureSummary
from ralph_tui.present.text.figures import money, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, crop, flat, plain

_GAP = 2
_MARK = 2
_LONGEST_NAME = 30

_HEADS = ("feature", "done", "cost", "phase", "last activity", "branch")
"""The columns, the most important first; the last ones are left out first."""

ONE_PLAN = "This project has one plan. {features.new} makes a feature beside it."


def feature_blocks(
    found: Sequence[FeatureSummary], shown: str, width: int, glyphs: Glyphs
) -> list[LineBlock]:
    """Return a row for each feature, keyed by name, below a row with the names of the columns."""
    cells = [_cells(one) for one in found]
    longest = [max(len(row[at]) for row in (_HEADS, *cells)) for at in range(len(_HEADS))]
    sizes = [min(size, _LONGEST_NAME) for size in longest]
    count = len(_HEADS)
    while count > 2 and _row_width(sizes[:count]) > width:
        count -= 1
    left = max(0, width - _row_width(sizes[:count]))
    for at in range(count):  # names and branches that were cut get the remaining room
        more = min(left, longest[at] - sizes[at])
        sizes[at], left = sizes[at] + more, left - more
    blocks = [LineBlock(None, [_line(_HEADS, sizes[:count], " ", Tone.MUTED)], folds=False)]
    for one, full in zip(found, cells, strict=True):
        row = [_cut(cell, size, glyphs) for cell, size in zip(full, sizes, strict=True)]
        chosen = one.name == shown
        mark = glyphs.current if chosen else " "
        lines = [_line(row, sizes[:count], mark, Tone.TITLE if chosen else Tone.TEXT)]
        if one.trouble:
            lines.append([Span(" " * _MARK), Span(flat(one.trouble), Tone.BAD)])
        blocks.append(LineBlock(one.name, lines))
    return blocks


def _row_width(sizes: Sequence[int]) -> int:
    return _MARK + sum(sizes) + _GAP * (len(sizes) - 1)


def _cut(cell: str, size: int, glyphs: Glyphs) -> str:
    return plain(crop([Span(cell)], size, glyphs.ellipsis))


def _cells(one: FeatureSummary) -> tuple[str, ...]:
    active = when(one.last_activity) if one.last_activity else ""
    done = f"{one.done} of {one.total}" if one.total else "no tasks"
    if one.trouble:
        return (one.shown, "?", money(one.cost_usd), "", active, one.branch)
    return (one.shown, done, money(one.cost_usd), one.phase.value, active, one.branch)


def _line(cells: Sequence[str], sizes: Sequence[int], mark: str, tone: Tone) -> Line:
    rest = "".join(
        f"{' ' * _GAP}{cell.ljust(size)}" for cell, size in zip(cells[1:], sizes[1:], strict=False)
    )
    first = Span(cells[0].ljust(sizes[0]), tone)
    return [Span(mark.ljust(_MARK), Tone.ACCENT), first, Span(rest.rstrip(), Tone.MUTED)]
