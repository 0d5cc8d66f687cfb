"""The line of the iterations page that replays an iteration and shows the progress."""

from collections.abc import Callable
from time import monotonic

from textual.content import Content
from textual.timer import Timer

from ralph_tui.domain.formatting import duration, plural
from ralph_tui.present.sections.bars import bar
from ralph_tui.present.text.spans import Line, Span, Tone, width_of
from ralph_tui.present.timeline.entries import EntryFilter
from ralph_tui.tui.data.event_player import Player
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.styled import StyledWidget

TICK = 1 / 15
"""Seconds between two steps of a replay."""


class ReplayLine(StyledWidget):
    """Plays a recording into a transcript; its timer runs only while it plays."""

    def __init__(
        self, transcript: Transcript, *, moved: Callable[[], None], changed: Callable[[], None]
    ) -> None:
        super().__init__()
        self._transcript = transcript
        self._moved = moved
        self._changed = changed
        self.player = Player()
        self.whole = True
        """Whether everything is shown and nothing is being replayed."""
        self._timer: Timer | None = None
        self._last_tick = 0.0

    def load(self, player: Player) -> None:
        self.hold()
        self.player, self.whole = player, True
        self._show()

    def toggle(self) -> None:
        """Pause the replay, or continue it, or start it from the beginning."""
        if self.player.playing:
            self.hold()
            return
        if self.whole or self.player.ended:
            self.rewind()
        self.player.playing = True
        self._last_tick = monotonic()
        if self._timer is None:
            self._timer = self.set_interval(TICK, self._tick)
        self._timer.resume()
        self._tick()

    def hold(self) -> None:
        self.player.playing = False
        if self._timer is not None:
            self._timer.pause()
        self._show()

    def _tick(self) -> None:
        now = monotonic()
        elapsed, self._last_tick = now - self._last_tick, now
        due = self.player.advance(elapsed)
        if due:
            self._transcript.play(due)
            self._moved()
        if not self.player.playing:
            self.hold()
        self._show()

    def faster(self, step: int) -> None:
        self.player.faster(step)
        self._show()

    def rewind(self) -> None:
        self.player.rewind()
        self.whole = False
        self._transcript.restart()
        self._show()

    def show_whole(self) -> None:
        self.hold()
        self._transcript.play(self.player.rest())
        self.whole = True
        self._show()

    def next_filter(self) -> None:
        self._transcript.filter_entries(self._transcript.entry_filter.next())
        self._moved()
        self._show()

    def _show(self) -> None:
        self.refresh()
        self._changed()

    def render(self) -> Content:
        width = self.content_size.width
        entry_filter = self._transcript.entry_filter
        word = "" if entry_filter is EntryFilter.ALL else f"only {entry_filter.value}"
        left, right = self._left(), [Span(word, Tone.MUTED)]
        room = width - width_of(left) - width_of(right) - 4
        middle = self._bar(room)
        fill = " " * max(1, width - width_of(left) - width_of(middle) - width_of(right) - 1)
        return self.content([[*left, Span(" "), *middle, Span(fill), *right]])

    def _left(self) -> Line:
        p, glyphs = self.player, self.app.glyphs
        if not p.events:
            return [Span("nothing to replay", Tone.MUTED)]
        if self.whole:
            events = plural(len(p.events), "event")
            return [
                Span(f"{events} in {duration(p.length)}", Tone.MUTED),
                Span("  space to replay", Tone.MUTED),
            ]
        word, glyph, tone = "paused", glyphs.pause, Tone.WARN
        if p.playing:
            word, glyph, tone = "replaying", glyphs.current, Tone.OK
        elif p.ended:
            word, glyph, tone = "finished", glyphs.ok, Tone.MUTED
        times = f"  {duration(p.at)} of {duration(p.length)}"
        return [Span(f"{glyph} {word} {p.speed}x", tone), Span(times, Tone.MUTED)]

    def _bar(self, room: int) -> list[Span]:
        if self.whole or room < 8 or not self.player.length:
            return []
        return bar(self.player.at / self.player.length, min(40, room), Tone.INFO, self.app.glyphs)
