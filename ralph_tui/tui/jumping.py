"""Where a jump can go from a screen: its panes, the tabs, and the rows of the pane in use."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, product
from string import ascii_uppercase, digits
from typing import NamedTuple

from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget

from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.rows import RowsView

LETTERS = f"asdfghjklqwertyuiopzxcvbnm{ascii_uppercase}{digits}"
"""The nearest first."""


class Target(NamedTuple):
    """A place on the screen, and what going there does."""

    at: Offset
    go: Callable[[], object]


def labels(count: int) -> list[str]:
    """As many labels, all of the same length, so that none begins another."""
    length = 1
    while len(LETTERS) ** length < count:
        length += 1
    return ["".join(letters) for letters in islice(product(LETTERS, repeat=length), count)]


def targets(screen: Screen[object]) -> list[Target]:
    """Rows of the pane in use first, because they are what is mostly wanted; one target per cell."""
    found: dict[Offset, Target] = {}
    for target in (*_rows(screen.focused), *_panes(screen), *_links(screen)):
        found.setdefault(target.at, target)
    return list(found.values())


def _panes(screen: Screen[object]) -> Iterator[Target]:
    for widget in screen.focus_chain:
        shown = screen.find_widget(widget).visible_region
        if shown.area and shown.y == widget.region.y:
            yield Target(shown.offset, widget.focus)


def _rows(focused: Widget | None) -> Iterator[Target]:
    if isinstance(focused, RowsView):
        left, top = focused.content_region.offset
        for y, key in focused.keys_in_sight():
            yield Target(Offset(left, top + y), partial(focused.move_cursor, key))


def _links(screen: Screen[object]) -> Iterator[Target]:
    """Those at the foot are keys already."""
    for line in screen.query(LinkLine):
        if line.display and line.can_jump and line.region.area:
            for at, name in line.places():
                yield Target(line.content_region.offset + Offset(at, 0), partial(line.follow, name))
