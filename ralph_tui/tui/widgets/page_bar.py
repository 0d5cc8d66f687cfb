"""The footer of a page: its own commands, and the way to all others."""

from collections.abc import Iterable
from typing import NamedTuple

from textual.reactive import reactive

from ralph_tui.tui.render.spans import Span, Tone
from ralph_tui.tui.widgets.key_line import KeyLine, Link


class Item(NamedTuple):
    """One command of the footer."""

    name: str
    key: str
    label: str
    usable: bool


class PageBar(KeyLine):
    """Of one page."""

    items: reactive[tuple[Item, ...]] = reactive(())
    """The most important first."""

    def commands(self) -> Iterable[Link]:
        """As the page has ranked them."""
        for item in self.items:
            yield (
                item.name,
                (
                    Span(item.key, Tone.ACCENT if item.usable else Tone.FAINT),
                    Span(f" {item.label}", Tone.TEXT if item.usable else Tone.FAINT),
                ),
            )
