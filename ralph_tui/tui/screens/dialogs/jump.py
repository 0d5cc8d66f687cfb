"""Shows a letter at each place on the screen; pressing a letter jumps there."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from pathlib import PurePath
from string import ascii_uppercase, digits
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.tui.terminal.frozen_background import FrozenBackground
from ralph_tui.tui.theme.stylesheets import STYLES
from ralph_tui.tui.widgets.footer import DialogFooter
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.row_list import RowList

LETTERS = f"asdfghjklqwertyuiopzxcvbnm{ascii_uppercase}{digits}"
"""The easiest keys first."""


class Target(NamedTuple):
    """A place on the screen, and the function that goes there."""

    at: Offset
    go: Callable[[], object]


def labels(count: int) -> list[str]:
    """Return `count` labels of equal length, so that none is a prefix of another."""
    length = 1
    while len(LETTERS) ** length < count:
        length += 1
    return ["".join(letters) for letters in islice(product(LETTERS, repeat=length), count)]


def targets(screen: Screen[object]) -> list[Target]:
    """Return the targets of a screen, starting with rows of the focused pane; at most one per cell."""
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
    if isinstance(focused, RowList):
        left, top = focused.content_region.offset
        for y, key in focused.visible_keys():
            yield Target(Offset(left, top + y), partial(focused.move_cursor, key))


def _links(screen: Screen[object]) -> Iterator[Target]:
    """Yield the links, except those of footers, which have keys already."""
    for line in screen.query(LinkLine):
        if line.display and line.can_jump and line.region.area:
            for at, name in line.places():
                yield Target(line.content_region.offset + Offset(at, 0), partial(line.follow, name))


class Jump(FrozenBackground[int | None]):
    """Returns the index of the chosen place; any other key and a click cancel."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [STYLES / "jump.tcss"]

    def __init__(self, places: Sequence[Offset]) -> None:
        super().__init__()
        self._places = places
        self._labels = labels(len(places))
        self._typed = ""

    def compose(self) -> ComposeResult:
        for at, label in zip(self._places, self._labels, strict=True):
            sign = Static(Content(label), classes="jump", id=f"jump-{at.x}-{at.y}")
            sign.styles.offset = at
            yield sign
        yield DialogFooter()

    def on_mount(self) -> None:
        self.query_one(DialogFooter).keys = "Press a letter to jump, any other key to cancel"

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._typed += event.character or "\0"
        left = [label for label in self._labels if label.startswith(self._typed)]
        if not left:
            self.dismiss(None)
        elif left == [self._typed]:
            self.dismiss(self._labels.index(self._typed))
        else:
            for sign, label in zip(self.query(".jump"), self._labels, strict=True):
                sign.display = label in left

    def on_click(self) -> None:
        self.dismiss(None)
