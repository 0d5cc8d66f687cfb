"""A recorded stretch of the stream: read whole, replayed, sifted and searched."""

from collections.abc import Sequence

from textual.content import Content

from ralph_tui.domain.events import Event
from ralph_tui.tui.timeline.fold import Timeline
from ralph_tui.tui.widgets.stream import Stream


class Transcript(Stream):
    """A stream that somebody fills, holding still until it is played."""

    def __init__(self, roots: tuple[str, ...], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(self._fresh(roots), id=id)
        self._roots = roots
        self.following = False
        self.caption = ""
        """What the lower border says instead of the stream's own words."""

    @staticmethod
    def _fresh(roots: tuple[str, ...]) -> Timeline:
        return Timeline(max_entries=50_000, roots=roots)

    def restart(self, timeline: Timeline | None = None) -> None:
        """Forget what is shown and show this, from the first entry."""
        self.timeline = timeline or self._fresh(self._roots)
        self._rows, self._laid_out = [], 0
        self._strips.clear()
        self.cursor = None
        self.following = False
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.absorb(())
        self.draw()

    def _lay_out(self) -> None:
        """Who came before the contents has the cursor as who comes after."""
        super()._lay_out()
        if self.has_focus and self.cursor is None and not self.following and self._rows:
            self.action_cursor(1)

    def folded(self, events: Sequence[Event]) -> Timeline:
        """A timeline of events; may be called in a thread."""
        timeline = self._fresh(self._roots)
        for event in events:
            timeline.feed(event)
        return timeline

    def play(self, events: Sequence[Event]) -> None:
        """Show what comes next, at the end."""
        self.following = True
        self.absorb(events)
        self.draw()

    def show_sieve(self) -> None:
        """The title is the iteration's; the line above says what is left out."""

    def _show_follow(self) -> None:
        self.border_subtitle = Content(getattr(self, "caption", ""))
