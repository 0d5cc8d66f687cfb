"""The last lines of the screen under a dialog: what its keys do, where those of the dashboard were."""

from collections.abc import Iterable

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.style import Style

from ralph_tui.tui.render.hints import Piece, foot_lines
from ralph_tui.tui.render.spans import Tone, pressing
from ralph_tui.tui.widgets.toned import Toned


class Foot(Toned):
    """Each key with its word, whole or not at all; a click on it is that key."""

    keys: reactive[str] = reactive("", layout=True)
    """Such as `y approve, n reject, esc later`; the most important first."""

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """The whole line."""
        del viewport
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many lines as the keys need."""
        del container, viewport
        return len(foot_lines(self.keys, width))

    def render(self) -> Content:
        """All lines."""
        lines = foot_lines(self.keys, self.content_size.width)
        return Content("\n").join([self._line(line) for line in lines])

    def _line(self, line: Iterable[Piece]) -> Content:
        return Content.assemble(*((piece.text, self._style(piece)) for piece in line))

    def _style(self, piece: Piece) -> Style:
        style = self.visual(Tone.ACCENT if piece.is_key else Tone.TEXT)
        return style + Style.from_meta(pressing(piece.presses)) if piece.presses else style
