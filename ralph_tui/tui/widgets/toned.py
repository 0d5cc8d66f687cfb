"""Tones to styles, through component classes of the app, so that colours live in the style sheets only.

The classes are the app's and not each widget's: a style sheet is applied to every component of every
widget whenever something changes, and nine for each of a dozen widgets was half the time to first paint.
"""

from collections.abc import Iterable

from rich.style import Style as RichStyle
from textual import getters
from textual.color import Color
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from ralph_tui.tui.host import Host
from ralph_tui.tui.render.spans import Line, Span, Tone, to_content


class Toned(Widget):
    """A widget that draws toned spans."""

    app = getters.app(Host)

    _tones: dict[Tone, Style] | None = None

    def notify_style_update(self) -> None:
        """The theme or the background changed."""
        self._tones = None
        super().notify_style_update()

    def tone_style(self, tone: Tone) -> RichStyle:
        """The style of a tone for the Line API, without a background of its own."""
        style = self._visual(tone)
        color = style.foreground.rich_color if style.foreground is not None else None
        return RichStyle(color=color, bold=style.bold, dim=style.dim)

    def content(self, lines: Iterable[Line]) -> Content:
        """Lines as content; their text is never markup."""
        return to_content(map(self.adapted, lines), self._visual)

    def adapted(self, line: Line) -> Line:
        """The line as this terminal can show it; with the ASCII signs everything is ASCII."""
        if self.app.glyphs.unicode:
            return line
        return [Span(_ascii(text, self.app.glyphs.ellipsis), tone) for text, tone in line]

    def _visual(self, tone: Tone) -> Style:
        if self._tones is None:
            self._tones = {}
        if tone not in self._tones:
            self._tones[tone] = self._style_on(self.background_colors[1], tone)
        return self._tones[tone]

    def _style_on(self, background: Color, tone: Tone) -> Style:
        """The tone blended with what is behind it."""
        styles = self.app.get_component_styles(f"tone--{tone}")
        color = background.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
        text = styles.text_style
        return Style(foreground=background + color, bold=text.bold, dim=text.dim)


def _ascii(text: str, ellipsis: str) -> str:
    return text.replace("…", ellipsis).encode("ascii", "replace").decode("ascii")
