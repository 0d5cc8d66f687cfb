"""The end of what the model said before it asked."""

from collections.abc import Sequence

from textual.content import Content
from textual.geometry import Size

from ralph_tui.tui.render.spans import Span, Tone, wrap
from ralph_tui.tui.widgets.toned import Toned


class SaidBefore(Toned):
    """At most so many rows, the last ones: a question refers to what stands right before it."""

    def __init__(self, texts: Sequence[str], rows: int) -> None:
        """Show the end of these lines."""
        super().__init__(classes="context")
        self._texts = texts
        self._most = rows

    def _rows(self, width: int) -> list[str]:
        rows = [row for text in self._texts for row in wrap(text, width)]
        shown = rows[-self._most :]
        if len(shown) < len(rows):
            shown[0] = wrap(f"{self.app.glyphs.ellipsis} {shown[0]}", width)[0]
        return shown

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many as there are."""
        del container, viewport
        return len(self._rows(width))

    def render(self) -> Content:
        """Muted: the question matters more."""
        rows = self._rows(self.content_size.width)
        return self.content([[Span(text, Tone.MUTED)] for text in rows])
