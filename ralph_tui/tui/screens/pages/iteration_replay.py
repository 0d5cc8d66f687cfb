"""The part of the iterations page that plays one again."""

from time import monotonic

from textual import getters
from textual.content import Content
from textual.timer import Timer

from ralph_tui.domain.formatting import duration
from ralph_tui.present.sections.bars import bar
from ralph_tui.present.text.figures import plural
from ralph_tui.present.text.spans import Line, Span, Tone, width_of
from ralph_tui.present.timeline.entries import EntryFilter
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.data.replay import Player
from ralph_tui.tui.screens.pages.searchable_page import ListDetailPage
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.styled import StyledWidget


class ReplayLine(StyledWidget):
    """Draws the player as it is now."""

    player: Player = Player()
    whole = True
    """Everything is shown; nothing was replayed."""
    entry_filter = ""

    def show(self, player: Player, *, whole: bool, entry_filter: str) -> None:
        """Draw this."""
        self.player, self.whole, self.entry_filter = player, whole, entry_filter
        self.refresh()

    def render(self) -> Content:
        """State, speed, time, a bar in what room is left."""
        width = self.content_size.width
        left, right = self._left(), [Span(self.entry_filter, Tone.MUTED)]
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
                Span("  space replays", Tone.MUTED),
            ]
        word, glyph, tone = "held", glyphs.pause, Tone.WARN
        if p.playing:
            word, glyph, tone = "replaying", glyphs.current, Tone.OK
        elif p.ended:
            word, glyph, tone = "at the end", glyphs.ok, Tone.MUTED
        times = f"  {duration(p.at)} of {duration(p.length)}"
        return [Span(f"{glyph} {word} {p.speed}x", tone), Span(times, Tone.MUTED)]

    def _bar(self, room: int) -> list[Span]:
        if self.whole or room < 8 or not self.player.length:
            return []
        return bar(self.player.at / self.player.length, min(40, room), Tone.INFO, self.app.glyphs)


TICK = 1 / 15
_COMMANDS = ("play", "faster", "slower", "rewind", "whole", "filter")


class ReplayPage(ListDetailPage):
    """Has a clock only while it plays."""

    transcript = getters.query_one("#transcript", Transcript)
    line = getters.query_one(ReplayLine)

    player = Player()
    whole = True
    """Everything is shown; nothing is being replayed."""
    _timer: Timer | None = None
    _last_tick = 0.0

    def put_in(self, player: Player) -> None:
        """Another recording, shown whole."""
        self.hold()
        self.player, self.whole = player, True
        self.show_line()

    def not_now(self, name: str) -> str:
        """Nothing is replayed where nothing is."""
        if name in _COMMANDS:
            if not self.player.events:
                return "Choose an iteration first."
            if not self.transcript.display:
                return self.app.keys.said(
                    "Only the activity can be replayed and filtered; {iterations.look} goes there."
                )
        return super().not_now(name)

    def label(self, command: Command) -> str:
        """The footer says what space does now."""
        if command.name == "play":
            return "hold" if self.player.playing else "replay"
        if command.name == "faster":
            return f"faster ({self.player.speed}x)" if not self.whole else ""
        return super().label(command)

    def do_play(self) -> None:
        """Replay from where it was held, or from the start, where it can be seen."""
        self.put_in_sight()
        if self.player.playing:
            self.hold()
            return
        if self.whole or self.player.ended:
            self.do_rewind()
        self.player.playing = True
        self._last_tick = monotonic()
        if self._timer is None:
            self._timer = self.set_interval(TICK, self._tick)
        self._timer.resume()
        self._tick()

    def hold(self) -> None:
        """Stand still."""
        self.player.playing = False
        if self._timer is not None:
            self._timer.pause()
        self.show_line()

    def _tick(self) -> None:
        now = monotonic()
        elapsed, self._last_tick = now - self._last_tick, now
        due = self.player.advance(elapsed)
        if due:
            self.transcript.play(due)
            self.search_again()
        if not self.player.playing:
            self.hold()
        self.show_line()

    def show_line(self) -> None:
        """How far it is."""
        entry_filter = self.transcript.entry_filter
        word = "" if entry_filter is EntryFilter.ALL else f"only {entry_filter.value}"
        self.line.show(self.player, whole=self.whole, entry_filter=word)
        self.refresh_keys()

    def do_faster(self) -> None:
        """Up to ten times the pace."""
        self.player.faster(1)
        self.show_line()

    def do_slower(self) -> None:
        """Down to the real pace."""
        self.player.faster(-1)
        self.show_line()

    def do_rewind(self) -> None:
        """From the start."""
        self.player.rewind()
        self.whole = False
        self.transcript.restart()
        self.show_line()

    def do_whole(self) -> None:
        """Everything at once."""
        self.hold()
        self.transcript.play(self.player.rest())
        self.whole = True
        self.show_line()

    def do_filter(self) -> None:
        """The next kind of entries, of what can be seen."""
        self.put_in_sight()
        self.transcript.filter_entries(self.transcript.entry_filter.next())
        self.search_again()
        self.show_line()
