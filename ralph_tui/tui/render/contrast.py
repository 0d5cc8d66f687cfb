"""Text that can be read on what is behind it, in whatever theme somebody has chosen. Pure functions."""

from textual.color import Color

TEXT = 4.5
"""What WCAG asks of text, as a ratio."""

SIGN = 3.0
"""What it asks of signs and of what cannot be used now."""

_STEPS = 20


def luminance(color: Color) -> float:
    """How bright a colour is to the eye, 0 to 1."""
    red, green, blue = (_linear(part / 255) for part in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else float(((part + 0.055) / 1.055) ** 2.4)


def contrast(one: Color, other: Color) -> float:
    """The ratio of two colours, 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def readable(color: Color, background: Color, least: float = TEXT) -> Color:
    """The colour, moved towards white or black as far as it takes; a terminal's own are left alone."""
    if color.ansi is not None or background.ansi is not None:
        return color
    black, white = Color(0, 0, 0), Color(255, 255, 255)
    end = max(black, white, key=lambda extreme: contrast(extreme, background))
    for step in range(_STEPS + 1):
        moved = color.blend(end, step / _STEPS)
        if contrast(moved, background) >= least:
            return moved
    return end
