"""A small framed block of lines: what the gauges have in common."""

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive

from ralph_tui.domain.sanitize import one_line
from ralph_tui.tui.render.spans import Line, Span
from ralph_tui.tui.render.states import Look
from ralph_tui.tui.widgets.toned import Toned


class Panel(Toned):
    """Draws `lines(width)`; a subclass holds its slice of the view in reactives."""

    TITLE = ""

    known: reactive[bool] = reactive(default=False)
    """The project was read; before that nothing is claimed."""

    def on_mount(self) -> None:
        """Name the panel."""
        self.border_title = self.TITLE
        self.caption()

    def on_resize(self) -> None:
        """Bars are as wide as the panel."""
        self.refresh()

    def render(self) -> Content:
        """The lines at the present width."""
        return self.content(self.shown(max(16, self.content_size.width or 36)))

    def watch_known(self) -> None:
        """The word in the border is a claim, too."""
        self.caption()

    def shown(self, width: int) -> Sequence[Line]:
        """The lines, or as many empty ones: nothing moves when they come."""
        lines = self.lines(width)
        return lines if self.known else [[Span(" ")] for _ in lines]

    def lines(self, width: int) -> Sequence[Line]:
        """What the panel shows; always the same number of lines for the same slice."""
        raise NotImplementedError

    def caption(self) -> None:
        """Set the word in the lower border, if there is one."""

    def show_look(self, look: Look) -> None:
        """A state as glyph and word in the lower border, coloured through a class."""
        word = one_line(f"{getattr(self.app.glyphs, look.glyph)} {look.word}", 40)
        self.border_subtitle = Content(word if self.known else "")
        for tone in ("ok", "info", "warn", "bad", "muted"):
            self.set_class(self.known and look.tone == tone, f"-{tone}")
