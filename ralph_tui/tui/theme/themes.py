"""Ralph's own two themes; widgets name theme variables, never colors."""

from pathlib import Path, PurePath
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.theme import Theme

_PACKAGE = Path(__file__).resolve().parents[2]
_SHIPPED = _PACKAGE / "styles"

STYLES = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent / "styles"

SHEETS: list[str | PurePath] = [
    STYLES / name for name in ("app.tcss", "dashboard.tcss", "modals.tcss")
]


def read_sheets(app: App[Any], screen: Screen[Any]) -> None:
    """Read a screen's own style sheets before it opens; Textual would also parse all others again."""
    new = [path for path in screen.css_path if not app.stylesheet.has_source(str(path), "")]
    if new:
        app.stylesheet.read_all(new)
        app.stylesheet.parse()


RALPH_DARK = Theme(
    name="ralph-dark",
    primary="#7aa2f7",
    secondary="#9d8cff",
    accent="#bb9af7",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    foreground="#c8cee6",
    background="#13151f",
    surface="#1a1d2b",
    panel="#232739",
    boost="#2c3148",
    dark=True,
    variables={
        "border": "#7aa2f7",
        "border-blurred": "#353b56",
        "block-cursor-background": "#2f3858",
        "block-cursor-foreground": "#e6eaff",
        "footer-key-foreground": "#7aa2f7",
        "input-selection-background": "#7aa2f7 35%",
        "scrollbar": "#353b56",
        "scrollbar-hover": "#4a5277",
        "scrollbar-active": "#7aa2f7",
        "scrollbar-background": "#13151f",
        "scrollbar-background-hover": "#13151f",
        "scrollbar-background-active": "#13151f",
    },
)

RALPH_LIGHT = Theme(
    name="ralph-light",
    primary="#2f5fd0",
    secondary="#6b4fd8",
    accent="#7a3fc0",
    warning="#9a6200",
    error="#c0263f",
    success="#2e7d32",
    foreground="#272b3a",
    background="#f7f8fc",
    surface="#ffffff",
    panel="#e9ecf5",
    boost="#dfe4f2",
    dark=False,
    variables={
        "border": "#2f5fd0",
        "border-blurred": "#c5cbdd",
        "block-cursor-background": "#d5dffa",
        "block-cursor-foreground": "#10131f",
        "footer-key-foreground": "#2f5fd0",
        "input-selection-background": "#2f5fd0 25%",
        "scrollbar": "#c5cbdd",
        "scrollbar-hover": "#9aa3bf",
        "scrollbar-active": "#2f5fd0",
        "scrollbar-background": "#f7f8fc",
        "scrollbar-background-hover": "#f7f8fc",
        "scrollbar-background-active": "#f7f8fc",
    },
)

THEMES = (RALPH_DARK, RALPH_LIGHT)


_ANSI = {RALPH_DARK.name: "ansi-dark", RALPH_LIGHT.name: "ansi-light"}


def shown_as(theme: str, color_system: str | None, *, no_color: bool) -> str:
    """Return the theme to use instead of one that this terminal cannot show well.

    With sixteen colors, the nearest match made disabled keys as gray as their background, so Textual's ANSI theme
    is used there. Without colors the ANSI theme is not used, because its red is hardly readable as a gray.
    """
    if color_system == "standard":
        return _ANSI.get(theme, theme)
    ours = {ansi: own for own, ansi in _ANSI.items()}
    return ours.get(theme, theme) if no_color else theme
