"""Where the style sheets are: inside the package in a wheel, beside it in a checkout."""

from pathlib import Path, PurePath

_PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = _PACKAGE / "styles"

STYLES = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent / "styles"

SHEETS: list[str | PurePath] = [
    STYLES / name for name in ("app.tcss", "dashboard.tcss", "modals.tcss")
]
"""In the order they apply."""
