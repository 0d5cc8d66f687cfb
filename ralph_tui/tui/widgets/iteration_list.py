"""Every iteration, newest first, under its run."""

from collections.abc import Sequence

from ralph_tui.domain.view.run_history import Chronicle, Iteration
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.iterations import iteration_blocks, look_of
from ralph_tui.tui.render.parts import Block
from ralph_tui.tui.render.spans import Span, Tone
from ralph_tui.tui.widgets.blocks import MARK
from ralph_tui.tui.widgets.rows import Key
from ralph_tui.tui.widgets.text_view import TextView


class IterationList(TextView):
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

    def count(self, iterations: int, unreadable: int) -> None:
        """Say how many there are, and how many lines of the journal tell nothing."""
        self.border_title = f"iterations {iterations:,}"
        self.border_subtitle = f"{plural(unreadable, 'line')} unreadable" if unreadable else ""

    def find(self, words: str) -> Sequence[int]:
        """The first rows of iterations that have the words, also where a title is cut."""
        wanted = words.casefold()
        its = self._chronicle.iterations
        found = (it.start for it in reversed(its) if wanted and wanted in _text(it).casefold())
        return [row for key in found if (row := self.row_of(key)) is not None]

    def _lay_out(self) -> None:
        """Titles are as wide as the list."""
        known = self._chronicle
        if known.iterations:
            width = max(20, self.row_width - MARK)
            self._blocks = iteration_blocks(known.iterations, known.runs, width, self.app.glyphs)
        super()._lay_out()


def _text(it: Iteration) -> str:
    return f"{it.number} {it.task_id} {look_of(it).word}\n{it.title}\n{it.reason}"
