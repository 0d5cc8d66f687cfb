"""Every iteration, newest first, under its run."""

from ralph_tui.domain.chronicle import Chronicle
from ralph_tui.tui.render.iterations import iteration_blocks
from ralph_tui.tui.render.parts import Block
from ralph_tui.tui.render.spans import Span, Tone
from ralph_tui.tui.widgets.blocks import MARK, Blocks
from ralph_tui.tui.widgets.rows import Key


class IterationList(Blocks):
    """Keys are the iterations' places in the journal."""

    _chronicle = Chronicle()

    def show(self, chronicle: Chronicle, cursor: Key | None = None) -> None:
        """Show these; the cursor goes to the named one, or stays where it can."""
        self._chronicle = chronicle
        self.show_blocks((), cursor)

    def say(self, text: str, tone: Tone = Tone.MUTED) -> None:
        """Instead of a list."""
        self._chronicle = Chronicle()
        self.show_blocks([Block(None, [[Span(text, tone)]])])

    def _lay_out(self) -> None:
        """Titles are as wide as the list."""
        known = self._chronicle
        if known.iterations:
            width = max(20, self.row_width - MARK)
            self._blocks = iteration_blocks(known.iterations, known.runs, width, self.app.glyphs)
        super()._lay_out()
