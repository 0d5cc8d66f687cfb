"""Joins screens into one moving SVG: each distinct piece of a line is drawn once, each frame places them.

CSS does the moving, so that the picture plays where it is only shown, as in a README.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from rich.color import Color as RichColor
from rich.style import Style
from textual.strip import Strip

CELL, LINE, SIZE = 12.2, 24.4, 20
MARGIN, BAR = 12, 34
FONT = "'Fira Code', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


@dataclass
class Film:
    """Frames of one size, each with the seconds it is shown."""

    width: int
    height: int
    foreground: str
    background: str
    cuts: tuple[int, ...] = ()
    """Columns at which panes meet: what stands still in one need not be drawn again with the other."""
    frames: list[tuple[float, list[int]]] = field(default_factory=list)
    _lines: dict[str, int] = field(default_factory=dict)
    _classes: dict[str, str] = field(default_factory=dict)

    def add(self, strips: Sequence[Strip], seconds: float) -> None:
        """One more frame; what looks like the one before is shown longer."""
        edges = (0, *self.cuts, self.width)
        shown = [
            self._line(strip.crop(left, right))
            for strip in strips
            for left, right in pairwise(edges)
        ]
        if self.frames and self.frames[-1][1] == shown:
            self.frames[-1] = (self.frames[-1][0] + seconds, shown)
        else:
            self.frames.append((seconds, shown))

    @property
    def seconds(self) -> float:
        return sum(seconds for seconds, _ in self.frames)

    def _line(self, strip: Strip) -> int:
        drawn = "".join(self._runs(strip))
        return self._lines.setdefault(drawn, len(self._lines))

    def _runs(self, strip: Strip) -> Iterable[str]:
        texts, x = [], 0.0
        for segment in strip:
            style, wide = segment.style or Style(), segment.cell_length * CELL
            front, back = _hex(style.color, self.foreground), _hex(style.bgcolor, self.background)
            if style.reverse:
                front, back = back, front
            if back != self.background:
                yield f'<rect x="{x:.1f}" width="{wide:.1f}" height="{LINE}" fill="{back}"/>'
            if segment.text.strip():
                text = escape(segment.text.replace(" ", "\u00a0"))
                look = self._class(front, bold=bool(style.bold))
                texts.append(
                    f'<text class="{look}" x="{x:.1f}" y="18" textLength="{wide:.1f}">{text}</text>'
                )
            x += wide
        yield from texts

    def _class(self, colour: str, *, bold: bool) -> str:
        rule = f"fill:{colour}" + (";font-weight:bold" if bold else "")
        return self._classes.setdefault(rule, f"c{len(self._classes)}")

    def svg(self, title: str) -> str:
        wide, high = self.width * CELL + 2 * MARGIN, self.height * LINE + BAR + MARGIN
        lines = "".join(f'<g id="l{n}">{drawn}</g>' for drawn, n in self._lines.items() if drawn)
        empty = {n for drawn, n in self._lines.items() if not drawn}
        moves, groups, at = [], [], 0.0
        columns = (0, *self.cuts)
        for number, (seconds, shown) in enumerate(self.frames):
            begin, end = (100 * t / self.seconds for t in (at, at + seconds))
            at += seconds
            hidden = f"0%{{visibility:hidden}}{begin:.3f}%{{visibility:visible}}" if number else ""
            first = hidden or "0%{visibility:visible}"
            last = f"{end:.3f}%,100%{{visibility:hidden}}" if number < len(self.frames) - 1 else ""
            moves.append(f"@keyframes k{number}{{{first}{last}}}")
            moves.append(f".f{number}{{animation-name:k{number}}}")
            placed = "".join(
                f'<use href="#l{line}" x="{columns[n % len(columns)] * CELL:.1f}"'
                f' y="{n // len(columns) * LINE:.1f}"/>'
                for n, line in enumerate(shown)
                if line not in empty
            )
            groups.append(f'<g class="f f{number}">{placed}</g>')
        rules = "".join(f".{name}{{{rule}}}" for rule, name in self._classes.items())
        still = f"@media(prefers-reduced-motion:reduce){{.f{{animation:none}}.f{len(self.frames) - 1}{{visibility:visible}}}}"
        style = (
            f"text{{font:{SIZE}px {FONT};white-space:pre}}"
            f".f{{visibility:hidden;animation:{self.seconds:.1f}s step-end infinite}}"
            f"{rules}{''.join(moves)}{still}"
        )
        dots = "".join(
            f'<circle cx="{22 + 22 * n}" cy="17" r="6" fill="{colour}"/>'
            for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img">'
            f"<title>{escape(title)}</title><style>{style}</style><defs>{lines}</defs>"
            f'<rect width="100%" height="100%" rx="10" fill="{self.background}"/>{dots}'
            f'<g transform="translate({MARGIN},{BAR})">{"".join(groups)}</g></svg>\n'
        )


def _hex(colour: RichColor | None, default: str) -> str:
    if colour is None or colour.is_default:
        return default
    return colour.get_truecolor().hex
