"""The views of a page in one line; the one in sight is marked, the others can be clicked."""

from collections.abc import Sequence

from textual.message import Message
from textual.reactive import reactive

from ralph_tui.present.text.spans import Line, Span, Tone
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


class ViewTabs(LinkLine):
    """Says when another view was chosen."""

    GAP = "   "

    active: reactive[str] = reactive("")

    class Chosen(Message):
        """Somebody clicked a view."""

        def __init__(self, view: str) -> None:
            """Say which."""
            super().__init__()
            self.view = view

    def __init__(self, views: Sequence[str]) -> None:
        """Begin with the first."""
        super().__init__()
        self.views = tuple(views)
        self.set_reactive(ViewTabs.active, self.views[0])

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Every view's name."""
        del width
        return [(name, self._line(name)) for name in self.views]

    def _line(self, name: str) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else self.app.glyphs.no_dot
        tone = Tone.ACCENT if chosen else Tone.FAINT
        return (Span(f"{mark} ", tone), Span(name, Tone.TITLE if chosen else Tone.MUTED))

    def next(self) -> None:
        """The one after this, round and round."""
        self.active = self.views[(self.views.index(self.active) + 1) % len(self.views)]

    def watch_active(self, view: str) -> None:
        """Tell the page."""
        if self.is_attached:
            self.post_message(self.Chosen(view))

    def follow(self, name: str) -> None:
        """Choose a view."""
        self.active = name
