"""Code in the colours of its language."""

from textual.content import Content
from textual.highlight import HighlightTheme, highlight

AT_ONCE = 5_000
"""Characters that are coloured while one waits; ten times as many take a tenth of a second."""

_COLOURS = {
    "Token.Comment": "$text-muted italic",
    "Token.Keyword": "$text-accent",
    "Token.Literal.Number": "$text-warning",
    "Token.Literal.String": "$text-success",
    "Token.Name.Class": "$text-primary bold",
    "Token.Name.Decorator": "$text-primary",
    "Token.Name.Function": "$text-primary bold",
}
"""Few, so that what was added and removed stays what is seen first in a diff."""


class _Colours(HighlightTheme):
    STYLES = {  # noqa: RUF012 - Textual declares it as an instance variable
        token: _COLOURS[str(token)] for token in HighlightTheme.STYLES if str(token) in _COLOURS
    }


def coloured(text: str, language: str) -> Content:
    """Inert text in colours; never parsed as markup."""
    return highlight(text, language=language, theme=_Colours)
