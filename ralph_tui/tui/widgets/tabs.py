"""Tabs in one line: the panes of the dashboard, the views of a page."""

from collections.abc import Sequence

from textual.message import Message
from textual.reactive import reactive

from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.widgets.links import LinkLine

PANES = ("tasks", "activity", "status")
"""The panes in reading order; also the names of their commands."""


class PaneTabs(LinkLine):
    """The panes: the visible one is marked, the others can be clicked."""

    active: reactive[str] = reactive("activity")

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Return key and name of each pane; three words fit any width the screen opens at."""
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
    """The views of a page: the visible one is marked, the others can be clicked."""

    GAP = "   "

    active: reactive[str] = reactive("")

    class Chosen(Message):
        """A view was chosen."""

        def __init__(self, view: str) -> None:
            """Say which one."""
            super().__init__()
            self.view = view

    def __init__(self, views: Sequence[str]) -> None:
        """Begin with the first view."""
        super().__init__()
        self.views = tuple(views)
        self.set_reactive(ViewTabs.active, self.views[0])

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Return every view's name."""
        del width
        return [(name, self._line(name)) for name in self.views]

    def _line(self, name: str) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else self.app.glyphs.no_dot
        tone = Tone.ACCENT if chosen else Tone.FAINT
        return (Span(f"{mark} ", tone), Span(name, Tone.TITLE if chosen else Tone.MUTED))

    def next(self) -> None:
        """Go to the next view, and around."""
        self.active = self.views[(self.views.index(self.active) + 1) % len(self.views)]

    def watch_active(self, view: str) -> None:
        """Post that another view was chosen."""
        if self.is_attached:
            self.post_message(self.Chosen(view))

    def follow(self, name: str) -> None:
        """Choose a view."""
        self.active = name
