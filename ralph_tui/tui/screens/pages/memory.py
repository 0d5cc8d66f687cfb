"""The memory page: what the model is given, from prompt and memory to specs and report, and the archived plans."""

from collections.abc import Iterable, Sequence

from textual import getters
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.approval_parts import report_parts
from ralph_tui.present.text.markdown import markdown_lines
from ralph_tui.present.text.parts import LineBlock, parts_blocks
from ralph_tui.present.text.spans import Line, Span, Tone, flat
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.data.project_files import ARCHIVE, MemoryDocument, read_papers
from ralph_tui.tui.host.external_editor import edit
from ralph_tui.tui.screens.pages.page import Handler, ListDetailPage
from ralph_tui.tui.widgets.blocks import Blocks
from ralph_tui.tui.widgets.text_view import TextView


class DocumentList(TextView):
    """The list of documents; keys are their names."""

    papers: Sequence[MemoryDocument] = ()

    def show(self, papers: Sequence[MemoryDocument]) -> None:
        """Show these documents under the names of their groups."""
        self.papers = papers
        blocks: list[LineBlock] = []
        group = ""
        for paper in papers:
            if paper.group != group:
                group = paper.group
                blocks.append(
                    LineBlock(None, [*([[]] if blocks else []), [Span(group, Tone.INFO)]])
                )
            blocks.append(LineBlock(paper.name, [_line(paper)]))
        self.show_blocks(blocks)

    def say(self, text: str, tone: Tone = Tone.MUTED) -> None:
        """Show a message in the place of the list."""
        self.papers = ()
        self.show_blocks([LineBlock(None, [[Span(text, tone)]])])

    def paper(self, key: object) -> MemoryDocument | None:
        """Return the document with this name."""
        return next((paper for paper in self.papers if paper.name == key), None)

    def find(self, words: str) -> Sequence[int]:
        """Return the rows of documents whose name or text has the words."""
        wanted = words.casefold()
        found = (p.name for p in self.papers if wanted in f"{p.name}\n{p.text}".casefold())
        return [row for name in found if (row := self.row_of(name)) is not None] if wanted else ()


def _line(paper: MemoryDocument) -> Line:
    if paper.report is not None:
        return [Span(paper.name), Span(f"  round {paper.report.round}", Tone.MUTED)]
    if not paper.text:
        return [Span(paper.name, Tone.MUTED), Span("  none yet", Tone.MUTED)]
    return [Span(paper.name), Span(f"  {plural(len(paper.text.splitlines()), 'line')}", Tone.MUTED)]


REREAD_SECONDS = 2.0

AT_ONCE = 20_000
"""Characters of a text that is laid out at once; a longer one is laid out in a thread."""


class Folded:
    """Many lines, wrapped already to the width that they will have."""

    def __init__(self, blocks: Sequence[LineBlock], width: int) -> None:
        """Wrap them, which takes long."""
        self._blocks = blocks
        self._made = (width, [block.folded(width) for block in blocks])

    def at(self, width: int) -> Sequence[LineBlock]:
        """Return them wrapped to this width."""
        if width != self._made[0]:
            self._made = (width, [block.folded(width) for block in self._blocks])
        return self._made[1]


class MemoryPage(ListDetailPage):
    """Shows the list at the left, the text at the right."""

    NAME = "memory"
    AUTO_FOCUS = "#papers"

    choices = getters.query_one("#papers", DocumentList)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        """Read nothing yet."""
        super().__init__()
        del library  # nothing here is in the journal
        self._shown: MemoryDocument | None = None

    def body(self) -> Iterable[Widget]:
        """Yield the list and the text."""
        with Horizontal(classes="page-body"):
            yield DocumentList(id="papers")
            with Vertical(classes="page-contents"):
                yield TextView(id="text")

    # Reading.

    def opened(self) -> None:
        """Read the documents now and every so often: sessions and editors write them."""
        self.choices.add_class("page-list")
        self.choices.border_title = "memory and specs"
        self.choices.say("reading")
        self._read()
        self.set_interval(REREAD_SECONDS, self._read)

    def changed(self, view: LoopView) -> None:
        """Ignore the view: the files are read by the clock."""

    def _read(self) -> None:
        root = self.app.launch.root
        self.read(lambda _: read_papers(root), self._take, group="papers", failed=self._failed)

    def _failed(self, text: str) -> None:
        if self.is_attached:
            self.choices.say(text, Tone.BAD)

    def _take(self, papers: list[MemoryDocument]) -> None:
        if not self.is_attached or papers == self.choices.papers:
            return
        self.choices.show(papers)
        self._show(self.choices.paper(self.choices.cursor))
        self.search_again()

    def on_blocks_highlighted(self, message: Blocks.Highlighted) -> None:
        """Show the document under the cursor, from its top."""
        self._show(self.choices.paper(message.key))

    def _show(self, paper: MemoryDocument | None) -> None:
        if paper is None or paper == self._shown:
            return
        other = self._shown is None or paper.name != self._shown.name
        self._shown = paper
        self.text.border_title = Content(flat(paper.name))
        self.text.border_subtitle = Content(flat(paper.note))
        if len(paper.text) <= AT_ONCE:
            self._lay(paper, self._blocks(paper), other=other)
            return
        if other:
            self._lay(paper, [LineBlock(None, [[Span("reading", Tone.MUTED)]])], other=True)
        width = self.text.room
        self.read(
            lambda _: Folded(self._blocks(paper), width),
            lambda made: self._lay(paper, made, other=other),
            group="lines",
            failed=self._failed,
        )

    def _lay(self, paper: MemoryDocument, made: "list[LineBlock] | Folded", *, other: bool) -> None:
        """Show the lines, unless the cursor has moved meanwhile."""
        if not self.is_attached or paper is not self._shown:
            return
        if isinstance(made, Folded):
            self.text.show_made(made.at)
        else:
            self.text.show_blocks(made)
        if other:
            self.text.scroll_to(y=0, animate=False, force=True, immediate=True)
        if self.choices.words:
            self.text.search(self.choices.words)
        else:
            self.search_again()

    def _meant(self) -> MemoryDocument | None:
        """Return the document under the cursor, even before its text is shown."""
        return self.choices.paper(self.choices.cursor)

    def _blocks(self, paper: MemoryDocument) -> list[LineBlock]:
        if paper.report is not None:
            return parts_blocks(report_parts(paper.report, self.app.glyphs))
        if not paper.text:
            return [LineBlock(None, [[Span(paper.note, Tone.MUTED)]])]
        lacks: list[Line] = [
            [Span(f"{self.app.glyphs.warning} lacks {what}", Tone.WARN)] for what in paper.lacks
        ]
        text = list(markdown_lines(paper.text, self.app.glyphs))
        return [LineBlock(None, [*lacks, *([[]] if lacks else []), *text])]

    # Commands.

    def listed(self) -> DocumentList:
        """Return the list; a search in it searches all documents."""
        return self.choices

    def contents(self) -> TextView:
        """Return the text."""
        return self.text

    def searched(self, words: str) -> None:
        """Search; words searched in all documents are marked in the shown one."""
        super().searched(words)
        if self._pane is self.choices:
            self.text.search(words)

    def not_now(self, name: str) -> str:
        """Refuse to edit what is no file."""
        meant = self._meant()
        if name != "edit" or (meant is not None and meant.path is not None):
            return super().not_now(name)
        if meant is None:
            return "Nothing is read yet."
        if meant.group == ARCHIVE and meant.text:
            return "An archive is read-only."
        was_sent = f"This is the {meant.name} as it was sent; what it is made of can be edited."
        return was_sent if meant.text else meant.note

    def handlers(self) -> dict[str, Handler]:
        """Add the page's own commands."""
        return {**super().handlers(), "edit": self.do_edit}

    def do_open(self) -> None:
        """Open the text."""
        self.go_in()
        if self.choices.words:  # from which text to where in it
            self.look_in(self.text)
            self.text.look_again()

    async def do_edit(self) -> None:
        """Open the file in the person's editor."""
        meant = self._meant()
        if meant is None or meant.path is None:
            return
        try:
            status = await edit(self.app, meant.path)
        except RalphError as error:
            self.app.say(str(error), error=True)
            return
        if status:
            self.app.say(f"The editor ended with status {status}.")
        self._read()

    def shown_text(self) -> str:
        """Return the text as it is in the file."""
        shown = self._meant()
        return (inert(shown.text) or self.text.text()) if shown is not None else ""
