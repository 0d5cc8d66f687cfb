"""One line about the replay: how fast, how far."""

from textual.content import Content

from ralph_tui.domain.formatting import duration
from ralph_tui.tui.render.bars import bar
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.spans import Line, Span, Tone, width_of
from ralph_tui.tui.replay import Player
from ralph_tui.tui.widgets.toned import Toned


class ReplayLine(Toned):
    """Draws the player as it is now."""

    player: Player = Player()
    whole = True
    """Everything is shown; nothing was replayed."""
    sieve = ""

    def show(self, player: Player, *, whole: bool, sieve: str) -> None:
        """Draw this."""
        self.player, self.whole, self.sieve = player, whole, sieve
        self.refresh()

    def render(self) -> Content:
        """State, speed, time, a bar in what room is left."""
        width = self.content_size.width
        left, right = self._left(), [Span(self.sieve, Tone.MUTED)]
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
