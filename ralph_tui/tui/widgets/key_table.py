"""Keys and what they do, in two columns that wrap."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ralph_tui.tui.render.spans import Line, Span, Tone, wrap
from ralph_tui.tui.widgets.folding import Folding

KEYS_WIDTH = 15


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One command: its keys, what it does, and why it cannot be used now."""

    keys: str
    text: str
    not_now: str = ""


class KeyTable(Folding):
    """A block of rows."""

    def __init__(self, rows: Sequence[KeyRow], *, classes: str | None = None) -> None:
        """Show these rows."""
        super().__init__(classes=classes)
        self._rows = rows

    def lines_at(self, width: int) -> Iterable[Line]:
        """Every row, with its text beside its keys."""
        return (line for row in self._rows for line in _lines(row, width - KEYS_WIDTH))


def _lines(row: KeyRow, width: int) -> list[Line]:
    texts = [Span(text) for text in wrap(row.text, width)]
    if row.not_now:
        texts += [Span(text, Tone.MUTED) for text in wrap(f"Not now: {row.not_now}", width)]
    keys = [row.keys, *[""] * (len(texts) - 1)]
    return [
        [Span(key.ljust(KEYS_WIDTH), Tone.ACCENT), text]
        for key, text in zip(keys, texts, strict=True)
    ]
