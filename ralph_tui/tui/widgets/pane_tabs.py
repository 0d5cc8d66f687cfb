"""The names of the panes, for terminals that show one at a time."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.widgets.links import LinkLine

PANES = ("tasks", "activity", "status")
"""In reading order; the names of their commands, too."""


class PaneTabs(LinkLine):
    """One line: the pane in sight is marked, the others can be clicked."""

    active: reactive[str] = reactive("activity")

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Key and name of each pane; three words fit any width the screen opens at."""
        del width
        return [(name, self._line(name)) for name in PANES]

    def _line(self, name: str) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else " "
        return (
            Span(f"{mark} ", Tone.ACCENT),
            Span(f"{self.app.keys.label(name)} ", Tone.ACCENT if chosen else Tone.MUTED),
            Span(name, Tone.TITLE if chosen else Tone.MUTED),
        )
