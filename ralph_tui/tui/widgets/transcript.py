"""A recorded stretch of the stream: read whole, replayed, sifted and searched."""

from collections.abc import Sequence

from textual.content import Content

from ralph_tui.domain.events import Event
from ralph_tui.tui.timeline.fold import Timeline
from ralph_tui.tui.timeline.lines import height
from ralph_tui.tui.timeline.sifting import Sieve, holds, passes
from ralph_tui.tui.widgets.stream import Stream


class Transcript(Stream):
    """A stream that somebody fills, holding still until it is played."""

    def __init__(self, roots: tuple[str, ...], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(self._fresh(roots), id=id)
        self._roots = roots
        self.following = False
        self.sieve = Sieve.ALL
        self._searching = False
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

    def sift(self, sieve: Sieve) -> None:
        """Show only some entries."""
        self.sieve = sieve
        self._rows, self._laid_out = [], 0
        self._strips.clear()
        self._lay_out()
        if self.cursor is not None and self.row_of(self.cursor) is None:
            self.move_cursor(self._rows[0][0] if self._rows else None)

    def _append_new(self, width: int) -> None:
        for number in range(self._laid_out, self.timeline.end):
            entry = self.timeline.entry(number)
            if entry is not None and passes(entry, self.sieve):
                self._rows.extend((number, i) for i in range(height(entry, width)))
        self._laid_out = self.timeline.end

    def _redraw_changed(self) -> None:
        """A call that has ended may pass where it did not before."""
        if self.timeline.changed and self.sieve is Sieve.TROUBLE:
            self._rows, self._laid_out = [], self.timeline.first
            self._append_new(self.row_width)
        super()._redraw_changed()

    def _show_follow(self) -> None:
        self.border_subtitle = Content(getattr(self, "caption", ""))

    # Searching.

    @property
    def shows_cursor(self) -> bool:
        """What was found is marked while somebody still types."""
        return self.has_focus or self._searching

    def find(self, words: str) -> list[int]:
        """Numbers of the entries in sight that hold the words."""
        self._searching = bool(words)
        if not words:
            return []
        numbers = dict.fromkeys(number for number, _ in self._rows)
        entries = ((number, self.timeline.entry(number)) for number in numbers)
        return [number for number, entry in entries if entry is not None and holds(entry, words)]

    def go_to(self, place: int) -> None:
        """Put the cursor on an entry that was found."""
        self.move_cursor(place)
