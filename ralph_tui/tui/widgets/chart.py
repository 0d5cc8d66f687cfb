"""One line over the iterations, coloured by the theme."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from textual.content import Content
from textual.message import Message

from ralph_tui.tui.render.chart import Drawing, Measure, thinned
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.widgets.toned import Toned


class Chart(Toned):
    """Shows one series; asks for it to be drawn once it is in sight, and says so when there is nothing to draw."""

    class Wanted(Message):
        """A chart in sight is not drawn as it is now."""

        def __init__(self, chart: "Chart", drawing: Drawing) -> None:
            """Say which, and how it is to be drawn."""
            super().__init__()
            self.chart = chart
            self.drawing = drawing

    def __init__(self, title: str, said: str, measure: Measure, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Name what it shows; `said` stands in the lower border."""
        super().__init__(id=id, classes="chart")
        self._title = title
        self._said = said
        self._measure = measure
        self._series = thinned((), ())
        self._known = False
        self._wanted: Drawing | None = None
        self._drawing: Drawing | None = None
        self._lines: Sequence[str] = ()

    def on_mount(self) -> None:
        """Name the frame."""
        self.border_title = self._title
        self.border_subtitle = self._said

    def show(self, xs: Sequence[float], ys: Sequence[float], note: str = "") -> None:
        """Show these points; `note` stands in the lower border."""
        self._series = thinned(xs, ys)
        self._known = True
        self.border_subtitle = Content(note or self._said)
        self.refresh()

    def take(self, drawing: Drawing, lines: Sequence[str]) -> None:
        """This is what was asked for."""
        self._drawing, self._lines = drawing, lines
        self.refresh()

    def on_resize(self) -> None:
        """A chart is as large as its frame."""
        self.refresh()

    def render(self) -> Content:
        """The chart as it was drawn last; one of another size is of no use."""
        width, height = self.content_size
        if width < 12 or height < 4:
            return self.content([])
        if not self._series[1]:
            said = "nothing to draw yet" if self._known else "reading"
            return self.content([[Span(said, Tone.MUTED)]])
        wanted = Drawing(self._series, self._measure, width, height, self.app.glyphs.unicode)
        if wanted not in (self._drawing, self._wanted):
            self._wanted = wanted
            self.post_message(self.Wanted(self, wanted))
        known = self._drawing
        fits = known is not None and (known.width, known.height) == (width, height)
        return self.content(map(_toned, self._lines if fits else ()))


def _toned(line: str) -> Line:
    pieces: Iterable[tuple[Tone, Iterable[str]]] = groupby(line, key=_tone_of)
    return [Span("".join(letters), tone) for tone, letters in pieces]


def _tone_of(letter: str) -> Tone:
    code = ord(letter)
    if 0x2580 <= code <= 0x259F or 0x2800 <= code <= 0x28FF or letter == "*":
        return Tone.INFO
    return Tone.FAINT if 0x2500 <= code <= 0x257F or letter in "-|+" else Tone.MUTED
