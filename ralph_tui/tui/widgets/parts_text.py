"""Titled blocks as one text that can change in place."""

from collections.abc import Iterable, Sequence

from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.spans import Line, Span, Tone, fold
from ralph_tui.tui.widgets.folding import Folding

_INDENT = Span("  ")


class PartsText(Folding):
    """Every block under its title; long lines wrap under themselves."""

    def __init__(self, parts: Sequence[Part]) -> None:
        """Show these blocks."""
        super().__init__(classes="parts")
        self._parts = parts

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show others instead; nothing happens when they are the same."""
        if parts != self._parts:
            self._parts = parts
            self.fold_again()

    def lines_at(self, width: int) -> Iterable[Line]:
        """The blocks at this width."""
        for at, part in enumerate(self._parts):
            if at:
                yield []
            yield [Span(part.title, Tone.HEADING)]
            for line in part.lines:
                yield from ([_INDENT, *piece] for piece in fold(line, width - len(_INDENT.text)))
