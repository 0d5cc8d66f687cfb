"""The names of the panes, for terminals that show one at a time."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.widgets.links import LinkLine

PANES = ("tasks", "activity", "status")
"""In reading order; the numbers of their keys are their places, and their commands' names."""


class PaneTabs(LinkLine):
    """One line: the pane in sight is marked, the others can be clicked."""

    active: reactive[str] = reactive("activity")

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Number and name of each pane; three words fit any width the screen opens at."""
        del width
        return [(name, self._line(number, name)) for number, name in enumerate(PANES, 1)]

    def _line(self, number: int, name: str) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else " "
        return (
            Span(f"{mark} ", Tone.ACCENT),
            Span(f"{number} ", Tone.ACCENT if chosen else Tone.MUTED),
            Span(name, Tone.TITLE if chosen else Tone.MUTED),
        )
