"""What is said when something was copied: no terminal answers whether it has put it on the clipboard."""

from ralph_tui.tui.render.figures import plural

SENT_WHOLE = 74_994
"""Bytes that every terminal takes that takes any (OSC 52); many leave out what is longer."""


def copied_words(text: str, *, first: bool) -> str:
    """How much, and the way out where it may not have come to the clipboard."""
    said = f"Copied {plural(len(text.splitlines()), 'line')}."
    if len(text.encode()) > SENT_WHOLE:
        return f"{said} Many terminals leave out so long a text; {{export}} writes it to a file."
    return f"{said} If your clipboard stays as it was, {{export}} writes a file." if first else said
