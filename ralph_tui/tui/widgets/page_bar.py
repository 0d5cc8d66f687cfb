"""The footer of a page: its own commands, and the way to all others."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.reactive import reactive

from ralph_tui.tui.render.spans import Line, Span, Tone, width_of
from ralph_tui.tui.widgets.keybar import more
from ralph_tui.tui.widgets.links import LinkLine


class Item(NamedTuple):
    """One command of the footer."""

    name: str
    key: str
    label: str
    usable: bool


class PageBar(LinkLine):
    """Whole labels only; the least important go first when the line is short."""

    can_jump = False

    items: reactive[tuple[Item, ...]] = reactive(())
    """The most important first."""

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """As many of the commands as fit, and the palette for the rest."""
        palette = more(self.app.keys)
        room = width - width_of(palette)
        shown: list[tuple[str, Line]] = []
        for item in self.items:
            line = (
                Span(item.key, Tone.ACCENT if item.usable else Tone.FAINT),
                Span(f" {item.label}", Tone.TEXT if item.usable else Tone.FAINT),
            )
            room -= width_of(line) + len(self.GAP)
            if room < 0:
                break
            shown.append((item.name, line))
        return [*shown, ("palette", palette)]
