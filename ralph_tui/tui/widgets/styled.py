"""Turns tones into styles through component classes of the app, so that only style sheets name colors.

The component classes belong to the app and not to each widget: Textual applies the style sheets to every component
of every widget at each change, and nine for each of a dozen widgets took half the time to first paint.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import getters
from textual.color import TRANSPARENT, Color
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.style import Style
from textual.widget import Widget

from ralph_tui.present.text.key_hints import key_name
from ralph_tui.present.text.spans import GROUNDS, Line, Span, Tone, flat
from ralph_tui.tui.host.widget_host import Host

TEXT_CONTRAST = 4.5
"""The contrast ratio that WCAG requires for text."""

SIGN_CONTRAST = 3.0
"""The contrast ratio that WCAG requires for symbols and disabled text."""

_STEPS = 20


def luminance(color: Color) -> float:
    red, green, blue = (_linear(part / 255) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else float(((part + 0.055) / 1.055) ** 2.4)


def contrast(one: Color, other: Color) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def readable(color: Color, background: Color, minimum: float = TEXT_CONTRAST) -> Color:
    """Return the color, blended toward white or black until it is readable; ANSI colors stay as they are."""
    if color.ansi is not None or background.ansi is not None:
        return color
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    end = max(black, white, key=lambda extreme: contrast(extreme, background))
    for step in range(_STEPS + 1):
        moved = color.blend(end, step / _STEPS)
        if contrast(moved, background) >= minimum:
            return moved
    return end


class StyledWidget(Widget):
    """A widget that draws toned spans."""

    app = getters.app(Host)

    auto_links: Reactive[bool] = Reactive(False)  # noqa: FBT003 - as Textual declares it
    """Off, so that clickable keys do not look like links."""

    _tones: dict[tuple[Tone, Color | None, Tone | None], Style] | None = None

    def notify_style_update(self) -> None:
        """Drop the cached styles, because the theme or the background changed."""
        self._tones = None
        super().notify_style_update()

    def tone_style(
        self, tone: Tone, background: Color | None = None, ground: Tone | None = None
    ) -> RichStyle:
        """Return a tone's style for the Line API, readable on the widget's background or on `background`."""
        style = self.visual(tone, background, ground)
        color = style.foreground.rich_color if style.foreground is not None else None
        behind = style.background.rich_color if style.background is not None else None
        return RichStyle(
            color=color, bgcolor=behind, bold=style.bold, dim=style.dim, italic=style.italic
        )

    def content(self, lines: Iterable[Line]) -> Content:
        """Return lines as content; their text is never parsed as markup."""
        return to_content(
            map(self.adapted, lines), lambda tone, ground: self.visual(tone, None, ground)
        )

    def adapted(self, line: Line) -> Line:
        if self.app.glyphs.unicode:
            return line
        ellipsis = self.app.glyphs.ellipsis
        return [
            Span(text.replace("…", ellipsis).encode("ascii", "replace").decode("ascii"), tone)
            for text, tone in line
        ]

    def visual(
        self, tone: Tone, background: Color | None = None, ground: Tone | None = None
    ) -> Style:
        """Return a tone's style for content.

        Args:
            background: The background, if it is not the widget's own, as in the row of the cursor; it hides
                `ground`.
        """
        if self._tones is None:
            self._tones = {}
        known = self._tones.get((tone, background, ground))
        if known is None:
            known = self._style_on(background, tone, ground)
            self._tones[tone, background, ground] = known
        return known

    def _style_on(self, background: Color | None, tone: Tone, ground: Tone | None) -> Style:
        styles = self.app.get_component_styles(f"tone--{tone}")
        base = self.background_colors[1]
        behind = background or base
        if background is None and base.ansi is None:  # ANSI colors cannot be blended
            under = self.app.get_component_styles(f"tone--{ground}").background if ground else None
            behind += styles.background if styles.background.a else under or TRANSPARENT
        color = behind.get_contrast_text(styles.color.a) if styles.auto_color else styles.color
        text = styles.text_style
        seen = readable(
            behind + color, behind, SIGN_CONTRAST if tone is Tone.FAINT else TEXT_CONTRAST
        )
        tint = behind if behind not in (background, base) else None
        return Style(
            background=tint, foreground=seen, bold=text.bold, dim=text.dim, italic=text.italic
        )


DEFAULT_CELLS = 60
"""Width of a line before the widget has a size."""


class WrappedText(StyledWidget):
    """A widget of wrapped lines, cached for the last width."""

    _wrapped: tuple[int, Content] | None = None

    def lines_at(self, width: int) -> Iterable[Line]:
        raise NotImplementedError

    def rewrap(self) -> None:
        """Wrap the lines again, because the text changed."""
        self._wrapped = None
        self.refresh(layout=True)

    def notify_style_update(self) -> None:
        self._wrapped = None
        super().notify_style_update()

    def _at(self, width: int) -> Content:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, self.content(self.lines_at(width))
        return self._wrapped[1]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines; known before the widget has a size, so that it is laid out only once."""
        del container, viewport
        return self._at(width).get_height(self.styles.get_rules(), width)

    def render(self) -> Content:
        return self._at(self.content_size.width or DEFAULT_CELLS)


class StyledLines(StyledWidget):
    """A fixed block of lines."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._lines = lines

    def show_lines(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self.refresh(layout=True)

    def render(self) -> Content:
        return self.content(self._lines)


def to_segments(line: Line, style_of: Callable[[Tone, Tone | None], RichStyle]) -> list[Segment]:
    return [
        Segment(flat(text), _keyed(text, tone, style_of(tone, ground)))
        for text, tone, ground in _grounded(line)
    ]


def _grounded(line: Line) -> Iterator[tuple[str, Tone, Tone | None]]:
    ground: Tone | None = None
    for text, tone in line:
        if tone in GROUNDS:
            ground = tone
        elif tone is Tone.FAINT:
            ground = None
        if text:
            yield text, tone, ground


_Style = TypeVar("_Style", RichStyle, Style)


def _keyed(text: str, tone: Tone, style: _Style) -> _Style:
    return style + type(style).from_meta(pressing(text)) if tone is Tone.KEY else style


def pressing(label: str) -> dict[str, str]:
    return {"@click": f"app.press({key_name(label)!r})"}


def to_content(lines: Iterable[Line], style_of: Callable[[Tone, Tone | None], Style]) -> Content:
    """Return lines as content for a widget's `render`; never parsed as markup."""
    rows = [
        Content.assemble(
            *(
                (flat(text), _keyed(text, tone, style_of(tone, ground)))
                for text, tone, ground in _grounded(line)
            )
        )
        for line in lines
    ]
    return Content("\n").join(rows)
