"""The texts that make the memory, by name; a search finds those that have the words anywhere."""

from collections.abc import Sequence

from ralph_tui.tui.papers import Paper
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.parts import Block
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.widgets.text_view import TextView


class PaperList(TextView):
    """Keys are the papers' names."""

    papers: Sequence[Paper] = ()

    def show(self, papers: Sequence[Paper]) -> None:
        """Show these under the names of their groups."""
        self.papers = papers
        blocks: list[Block] = []
        group = ""
        for paper in papers:
            if paper.group != group:
                group = paper.group
                blocks.append(Block(None, [*([[]] if blocks else []), [Span(group, Tone.INFO)]]))
            blocks.append(Block(paper.name, [_line(paper)]))
        self.show_blocks(blocks)

    def say(self, text: str, tone: Tone = Tone.MUTED) -> None:
        """Instead of a list."""
        self.papers = ()
        self.show_blocks([Block(None, [[Span(text, tone)]])])

    def paper(self, key: object) -> Paper | None:
        """The one with this name."""
        return next((paper for paper in self.papers if paper.name == key), None)

    def find(self, words: str) -> Sequence[int]:
        """Rows of the papers whose name or text has the words."""
        wanted = words.casefold()
        found = (p.name for p in self.papers if wanted in f"{p.name}\n{p.text}".casefold())
        return [row for name in found if (row := self.row_of(name)) is not None] if wanted else ()


def _line(paper: Paper) -> Line:
    if paper.report is not None:
        return [Span(paper.name), Span(f"  round {paper.report.round}", Tone.MUTED)]
    if not paper.text:
        return [Span(paper.name, Tone.MUTED), Span("  none yet", Tone.MUTED)]
    return [Span(paper.name), Span(f"  {plural(len(paper.text.splitlines()), 'line')}", Tone.MUTED)]
