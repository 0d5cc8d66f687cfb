"""Tones to styles, through component classes of the app, so that colours live in the style sheets only.

The classes are the app's and not each widget's: a style sheet is applied to every component of every
widget whenever something changes, and nine for each of a dozen widgets was half the time to first paint.
"""

from collections.abc import Iterable

from rich.style import Style as RichStyle
from textual import getters
from textual.color import Color
from textual.content import Content
from textual.reactive import Reactive
from textual.style import Style
from textual.widget import Widget

from ralph_tui.tui.host import Host
from ralph_tui.tui.render.contrast import SIGN, TEXT, readable
from ralph_tui.tui.render.spans import Line, Span, Tone, to_content


class Toned(Widget):
    """A widget that draws toned spans."""

    app = getters.app(Host)

    auto_links: Reactive[bool] = Reactive(False)  # noqa: FBT003 - as Textual declares it
    """Keys that can be clicked look like keys, not like links."""

    _tones: dict[tuple[Tone, Color | None], Style] | None = None

    def notify_style_update(self) -> None:
        """The theme or the background changed."""
        self._tones = None
        super().notify_style_update()

    def tone_style(self, tone: Tone, background: Color | None = None) -> RichStyle:
        """The style of a tone for the Line API, to be read on what is behind it or on `background`."""
        style = self.visual(tone, background)
        color = style.foreground.rich_color if style.foreground is not None else None
        return RichStyle(color=color, bold=style.bold, dim=style.dim)

    def content(self, lines: Iterable[Line]) -> Content:
        """Lines as content; their text is never markup."""
        return to_content(map(self.adapted, lines), self.visual)

    def adapted(self, line: Line) -> Line:
        """The line as this terminal can show it; with the ASCII signs everything is ASCII."""
        if self.app.glyphs.unicode:
            return line
        return [Span(_ascii(text, self.app.glyphs.ellipsis), tone) for text, tone in line]

    def visual(self, tone: Tone, background: Color | None = None) -> Style:
        """The style of a tone for content."""
        if self._tones is None:
            self._tones = {}
        known = self._tones.get((tone, background))
        if known is None:
            behind = background or self.background_colors[1]
            known = self._tones[tone, background] = self._style_on(behind, tone)
        return known

    def _style_on(self, background: Color, tone: Tone) -> Style:
        """The tone blended with what is behind it, and readable there."""
        styles = self.app.get_component_styles(f"tone--{tone}")
        color = background.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
        text = styles.text_style
        seen = readable(background + color, background, SIGN if tone is Tone.FAINT else TEXT)
        return Style(foreground=seen, bold=text.bold, dim=text.dim)


def _ascii(text: str, ellipsis: str) -> str:
    return text.replace("…", ellipsis).encode("ascii", "replace").decode("ascii")
