"""Tones to styles, through component classes, so that colours live in the style sheets only."""

from collections.abc import Iterable
from typing import ClassVar

from rich.style import Style as RichStyle
from textual import getters
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from ralph_tui.tui.host import Host
from ralph_tui.tui.render.spans import Line, Span, Tone, to_content


class Toned(Widget):
    """A widget that draws toned spans."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in Tone}

    app = getters.app(Host)

    def tone_style(self, tone: Tone) -> RichStyle:
        """The style of a tone for the Line API, without a background of its own."""
        style = self.get_component_rich_style(f"tone--{tone}")  # blended with the background
        return RichStyle(color=style.color, bold=style.bold, dim=style.dim, italic=style.italic)

    def content(self, lines: Iterable[Line]) -> Content:
        """Lines as content; their text is never markup."""
        return to_content(map(self.adapted, lines), self._visual)

    def adapted(self, line: Line) -> Line:
        """The line as this terminal can show it; with the ASCII signs everything is ASCII."""
        if self.app.glyphs.unicode:
            return line
        return [Span(_ascii(text, self.app.glyphs.ellipsis), tone) for text, tone in line]

    def _visual(self, tone: Tone) -> Style:
        style = self.get_visual_style(f"tone--{tone}")
        return Style(foreground=style.foreground, bold=style.bold, dim=style.dim)


def _ascii(text: str, ellipsis: str) -> str:
    return text.replace("…", ellipsis).encode("ascii", "replace").decode("ascii")
