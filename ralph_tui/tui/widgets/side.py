"""The pane of the panels: scrolls with the keys of the other panes, is searched and copied as text."""

from typing import ClassVar

from textual.binding import Binding, BindingType

from ralph_tui.tui.render.spans import plain
from ralph_tui.tui.widgets.panel import Panel
from ralph_tui.tui.widgets.prose import Prose

TEXT_WIDTH = 60
"""Cells of a panel as text."""


class Side(Prose):
    """Panels one below the other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", show=False),
        Binding("j", "scroll_down", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
    ]

    def text(self) -> str:
        """Every panel with its title and what is said in its border."""
        blocks = []
        for panel in self.query(Panel):
            lines = [plain(line).rstrip() for line in panel.shown(TEXT_WIDTH)]
            said = f" ({panel.border_subtitle})" if panel.border_subtitle else ""
            blocks.append("\n".join((f"{panel.TITLE}{said}", *(f"  {text}" for text in lines))))
        return "\n\n".join(blocks) + "\n"
