"""A reader of titled blocks."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.tui.render.parts import Part, parts_text
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.widgets.lines import Lines


class PartsReader(Reader):
    """Subclasses say the title and the blocks."""

    def blocks(self) -> list[Part]:
        """What there is to read."""
        raise NotImplementedError

    def parts(self) -> Iterable[Widget]:
        """One widget per block."""
        for block in self.blocks():
            yield Static(block.title, classes="section-title", markup=False)
            yield Lines(block.lines, classes="section")

    def copy_text(self) -> str:
        """Every block."""
        return parts_text(self.blocks())
