"""The activity stream: a line per tool call, the model's text, and what the loop did."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from textual import events
from textual.content import Content
from textual.geometry import Region

from ralph_tui.domain.events import Event
from ralph_tui.domain.formatting import plural
from ralph_tui.present.text.spans import Line, Span, Tone, plain, wrap
from ralph_tui.present.timeline import entry_lines
from ralph_tui.present.timeline.entries import Entry, EntryFilter, NoteEntry, holds, passes
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.present.tools.inline_diff import MOST
from ralph_tui.tui.widgets.row_list import Key, Row, SearchableRows

CORNER = 4
"""Maximum number of cells between the text in the lower border and the pane's edge."""


class Stream(SearchableRows):
    """Shows entries; follows the end until the person scrolls away, and resumes only on their request."""

    def __init__(self, timeline: Timeline | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.timeline = timeline or Timeline()
        self.following = True
        self.unseen = 0
        """Entries that arrived while the stream did not follow."""
        self._rows: list[tuple[int, int]] = []
        self._laid_out = 0
        """The number of the first entry that is not laid out yet."""
        self._live: list[str] = []
        self._width = 0
        self._needs_layout = False
        self._follow_text = ""
        self.entry_filter = EntryFilter.ALL
        self._unfolded: set[int] = set()
        """Numbers of the rejected claims whose checks are shown."""

    def on_mount(self) -> None:
        self.border_title = "activity"
        self._show_follow()

    # Rows.

    def row_count(self) -> int:
        return len(self._rows) + len(self._live)

    def row_at(self, y: int) -> Row:
        return self._rows[y] if y < len(self._rows) else (None, y - len(self._rows))

    def row_of(self, key: Key) -> int | None:
        """Return the first row of an entry, by bisection over the ascending numbers."""
        if not isinstance(key, int):
            return None
        y = bisect_left(self._rows, (key, 0))
        return y if y < len(self._rows) and self._rows[y][0] == key else None

    def row_line(self, y: int, width: int) -> Line:
        glyphs = self.app.glyphs
        if y >= len(self._rows):
            text = self._live[y - len(self._rows)]
            bullet = f"{glyphs.text} " if y == len(self._rows) else "  "
            return [Span(bullet, Tone.ACCENT), Span(text)]
        number, part = self._rows[y]
        entry = self.timeline.entry(number)
        if isinstance(entry, NoteEntry) and entry.hides:
            lines = plural(len(entry.hides), "line")
            hidden = f"{self.app.glyphs.chevron} {lines} hidden"
            entry = replace(entry, right=lines if number in self._unfolded else hidden)
        return entry_lines.line(entry, part, width, glyphs) if entry else []

    # Rejected claims.

    def _is_hidden(self, number: int) -> bool:
        verdict = self.timeline.folded.get(number)
        return (
            verdict is not None
            and verdict not in self._unfolded
            and self.entry_filter is EntryFilter.ALL
        )

    def fold(self) -> bool:
        """Hide or show the checks of the rejected claim under the cursor; return False if there is none."""
        here = self.selected
        if here is None:
            return False
        number = self.timeline.folded.get(here.number, here.number)
        verdict = self.timeline.entry(number)
        if not isinstance(verdict, NoteEntry) or not verdict.hides:
            return False
        following = self.following
        self._unfolded ^= {number}
        self._rows, self._laid_out = [], 0
        self._strips.clear()
        self._lay_out()
        if not following:
            self.move_cursor(number)
        return True

    def _fold_refused(self) -> None:
        """Remove the rows of checks that were folded into a verdict since, unless the person reads them."""
        at = self.cursor if isinstance(self.cursor, int) else -1
        for verdict in self.timeline.refused:
            if not self.following and self.timeline.folded.get(at) == verdict:
                self._unfolded.add(verdict)
        if self.timeline.refused:
            top = self.scroll_offset.y
            above = sum(self._is_hidden(number) for number, _ in self._rows[:top])
            self._rows = [row for row in self._rows if not self._is_hidden(row[0])]
            if above and not self.following:
                self.set_scroll(None, max(0, top - above))
        self.timeline.refused.clear()

    # Events.

    def absorb(self, batch: Iterable[Event]) -> None:
        """Add events to the timeline; `draw` shows them."""
        before = self.timeline.end
        for event in batch:
            self.timeline.feed(event)
        if not self.following:
            self.unseen += self.timeline.end - before
        self._needs_layout = True

    def draw(self) -> bool:
        """Show the events absorbed since the last draw; return whether there were any."""
        behind, self._needs_layout = self._needs_layout, False
        if behind:
            self._lay_out()
        return behind

    def _lay_out(self) -> None:
        if not self.is_attached or not self.size.width:
            return  # hidden behind another tab; the next resize lays it out
        width = self.row_width
        if width != self._width:
            self._width = width
            self._rows, self._laid_out = [], 0
            self._strips.clear()
        surplus = bisect_left(self._rows, (self.timeline.first, 0))
        if surplus:
            del self._rows[:surplus]
            if not self.following:
                self.set_scroll(None, max(0, self.scroll_offset.y - surplus))
        self._laid_out = max(self._laid_out, self.timeline.first)
        self._fold_refused()
        self._append_new(width)
        self._redraw_changed()
        live = self.timeline.live_text.strip()
        self._live = wrap(live, width - 2) if live else []
        self.resize_rows()
        if self.following:
            self.scroll_end(animate=False, force=True, immediate=True, x_axis=False)
        self._show_follow()
        self.refresh()

    def _append_new(self, width: int) -> None:
        for number in range(self._laid_out, self.timeline.end):
            entry = self.timeline.entry(number)
            if (
                entry is not None
                and passes(entry, self.entry_filter)
                and not self._is_hidden(number)
            ):
                self._rows.extend((number, i) for i in range(entry_lines.height(entry, width)))
        self._laid_out = self.timeline.end

    def _redraw_changed(self) -> None:
        if self.timeline.changed and self.entry_filter is EntryFilter.TROUBLE:
            self._rows, self._laid_out = [], self.timeline.first
            self._append_new(self.row_width)
        for number in self.timeline.changed:
            for part in range(1 + MOST):  # the lines of an inline diff have the call's colors
                self._strips.discard((number, part))
        self.timeline.changed.clear()

    def tick(self, now: datetime) -> None:
        """Update the time of running calls, and draw only their rows: a terminal may be far away."""
        self.timeline.tick(now)
        changed = frozenset(self.timeline.changed)
        self._redraw_changed()
        if changed and self.entry_filter is EntryFilter.TROUBLE:
            self.refresh()
            return
        top = self.scroll_offset.y
        for y in range(top, min(self.row_count(), top + self.size.height)):
            if self.row_at(y)[0] in changed:
                self.refresh(Region(0, y - top, self.size.width, 1))

    def filter_entries(self, entry_filter: EntryFilter) -> None:
        self.entry_filter = entry_filter
        self._rows, self._laid_out = [], 0
        self._strips.clear()
        self._lay_out()
        self.show_filter()
        if not self.following and isinstance(self.cursor, int):
            y = min(bisect_left(self._rows, (self.cursor, 0)), len(self._rows) - 1)
            self.move_cursor(self._rows[y][0] if self._rows else None)

    def show_filter(self) -> None:
        shown = (
            "activity" if self.entry_filter is EntryFilter.ALL else f"activity: {self.entry_filter}"
        )
        self.border_title = shown

    def shown(self) -> list[Entry]:
        return [entry for entry in self.timeline.entries if passes(entry, self.entry_filter)]

    def keys_matching(self, words: str) -> list[int]:
        """Return the visible entries whose text, input or output contains the words; unfold hidden ones."""
        folded = self.timeline.folded
        if any(
            holds(e, words) for n in folded if self._is_hidden(n) and (e := self.timeline.entry(n))
        ):
            self._unfolded.update(folded[n] for n in folded)
            self.filter_entries(self.entry_filter)
        numbers = dict.fromkeys(number for number, _ in self._rows)
        entries = ((number, self.timeline.entry(number)) for number in numbers)
        return [number for number, entry in entries if entry is not None and holds(entry, words)]

    def on_resize(self) -> None:
        self._lay_out()
        self.call_after_refresh(self._stay_at_end)

    def _stay_at_end(self) -> None:
        if self.following:
            self.scroll_end(animate=False, force=True, immediate=True, x_axis=False)

    # Following.

    def action_follow(self) -> None:
        self._follow(on=not self.following)

    def _follow(self, *, on: bool) -> None:
        self.following = on
        if on:
            self.unseen = 0
            self.cursor = self._rows[-1][0] if self._rows else None
            self.scroll_end(animate=False, force=True, immediate=True, x_axis=False)
        self._show_follow()
        self.refresh()

    def _show_follow(self) -> None:
        key = self.app.keys.label("follow")
        new_below = f"{self.unseen:,} new below, " if self.unseen else ""
        text = "following" if self.following else f"{new_below}{key} to follow"
        if text != self._follow_text:  # setting the border title redraws the whole pane
            self._follow_text = text
            self.border_subtitle = Content(text)
        self.set_class(not self.following, "-held")

    def move_cursor(self, key: Key | None) -> None:
        last = self._rows[-1][0] if self._rows else None
        super().move_cursor(key)
        self._follow(on=key == last and self.is_vertical_scroll_end)

    def action_edge(self, direction: int) -> None:
        super().action_edge(direction)
        self._follow(on=direction > 0)

    def on_focus(self) -> None:
        if self.following:
            self.cursor = self._rows[-1][0] if self._rows else None
        elif self.cursor is None:
            super().on_focus()

    def on_click(self, event: events.Click) -> None:
        """Follow if the text in the lower border is clicked; a border title itself receives no clicks."""
        width, height = self.outer_size
        is_there = event.y == height - 1 and event.x >= width - len(self._follow_text) - CORNER
        if is_there and self._follow_text and not self.following:
            self._follow(on=True)

    def on_mouse_scroll_up(self) -> None:
        if self.max_scroll_y > 0:
            self._follow(on=False)

    def on_mouse_scroll_down(self) -> None:
        self.call_after_refresh(self._follow_at_end)

    def _follow_at_end(self) -> None:
        if not self.following and self.is_vertical_scroll_end:
            self._follow(on=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.is_vertical_scrollbar_grabbed:
            self._follow(on=self.is_vertical_scroll_end)

    # The selection.

    @property
    def selected(self) -> Entry | None:
        if self.following and self._rows:
            return self.timeline.entry(self._rows[-1][0])
        return self.timeline.entry(self.cursor) if isinstance(self.cursor, int) else None

    def selected_text(self) -> str:
        entry = self.selected
        if entry is None:
            return ""
        count = entry_lines.height(entry, self.row_width)
        shown = (entry_lines.line(entry, i, self.row_width, self.app.glyphs) for i in range(count))
        return "\n".join(plain(line).rstrip() for line in shown)


class Transcript(Stream):
    """The stream of a past iteration."""

    def __init__(self, roots: tuple[str, ...], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(self._new_timeline(roots), id=id)
        self._roots = roots
        self.following = False

    @staticmethod
    def _new_timeline(roots: tuple[str, ...]) -> Timeline:
        return Timeline(max_entries=50_000, roots=roots)

    def restart(self, timeline: Timeline) -> None:
        """Show another timeline from the first entry."""
        self.timeline = timeline
        self._rows, self._laid_out = [], 0
        self._strips.clear()
        self.cursor = None
        self.following = False
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.absorb(())
        self.draw()

    def _lay_out(self) -> None:
        super()._lay_out()
        if self.has_focus and self.cursor is None and not self.following and self._rows:
            self.action_cursor(1)

    def timeline_of(self, events: Sequence[Event]) -> Timeline:
        """Return the timeline of events; may be called in a thread."""
        timeline = self._new_timeline(self._roots)
        for event in events:
            timeline.feed(event)
        return timeline

    def show_filter(self) -> None:
        """Show the filter in the lower border, because the title names the iteration."""
        kind = self.entry_filter
        self.border_subtitle = "" if kind is EntryFilter.ALL else f"only {kind.value}"

    def _show_follow(self) -> None:
        """Leave the lower border to the filter."""
