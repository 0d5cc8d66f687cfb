"""Finds the style sheets: inside the package in a wheel, next to it in a checkout."""

from pathlib import Path, PurePath
from typing import Any

from textual.app import App
from textual.screen import Screen

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
