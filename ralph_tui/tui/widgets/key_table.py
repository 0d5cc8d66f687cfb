"""Keys and what they do, in two columns that wrap."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from ralph_tui.tui.render.spans import Line, Span, Tone, wrap
from ralph_tui.tui.widgets.toned import Toned

KEYS_WIDTH = 15


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One command: its keys, what it does, and why it cannot be used now."""

    keys: str
    text: str
    not_now: str = ""


class KeyTable(Toned):
    """A block of rows."""

    def __init__(self, rows: Sequence[KeyRow], *, classes: str | None = None) -> None:
        """Show these rows."""
        super().__init__(classes=classes)
        self._rows = rows

    def on_resize(self) -> None:
        """The width decides where texts wrap."""
        self.refresh(layout=True)

    def render(self) -> Content:
        """Every row, with its text beside its keys."""
        width = (self.content_size.width or 60) - KEYS_WIDTH
        return self.content(line for row in self._rows for line in _lines(row, width))


def _lines(row: KeyRow, width: int) -> list[Line]:
    texts = [Span(text) for text in wrap(row.text, width)]
    if row.not_now:
        texts += [Span(text, Tone.MUTED) for text in wrap(f"Not now: {row.not_now}", width)]
    keys = [row.keys, *[""] * (len(texts) - 1)]
    return [
        [Span(key.ljust(KEYS_WIDTH), Tone.ACCENT), text]
        for key, text in zip(keys, texts, strict=True)
    ]
