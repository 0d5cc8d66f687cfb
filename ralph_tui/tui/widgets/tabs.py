"""Tabs in one line: the panes of the dashboard, and the views of a page."""

from collections.abc import Sequence

from textual.message import Message
from textual.reactive import reactive

from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.tui.widgets.links import LinkLine

PANES = ("tasks", "activity", "status")
"""The panes in reading order; also the names of their commands."""


class PaneTabs(LinkLine):
    """The panes as tabs; the visible one is marked, the others can be clicked."""

    active: reactive[str] = reactive("activity")

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
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
    """The views of a page as tabs; the visible one is marked, the others can be clicked."""

    GAP = "   "

    active: reactive[str] = reactive("")

    class Chosen(Message):
        """Posted when another view was chosen."""

        def __init__(self, view: str) -> None:
            super().__init__()
            self.view = view

    def __init__(self, views: Sequence[str]) -> None:
        super().__init__()
        self.views = tuple(views)
        self.set_reactive(ViewTabs.active, self.views[0])

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        del width
        return [(name, self._line(name)) for name in self.views]

    def _line(self, name: str) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else self.app.glyphs.no_dot
        tone = Tone.ACCENT if chosen else Tone.FAINT
        return (Span(f"{mark} ", tone), Span(name, Tone.TITLE if chosen else Tone.MUTED))

    def next(self) -> None:
        self.active = self.views[(self.views.index(self.active) + 1) % len(self.views)]

    def watch_active(self, view: str) -> None:
        if self.is_attached:
            self.post_message(self.Chosen(view))

    def follow(self, name: str) -> None:
        self.active = name
