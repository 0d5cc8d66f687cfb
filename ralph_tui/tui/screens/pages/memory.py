"""The memory page: the texts that the model gets, from prompt to specs and report, and the archived plans."""

import asyncio
import os
import shlex
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual import getters
from textual.app import App, SuspendNotSupported
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
from ralph_tui.tui.data.project_files import ARCHIVE, MemoryDocument, read_documents
from ralph_tui.tui.screens.pages.page import ListDetailPage
from ralph_tui.tui.widgets.blocks import Blocks
from ralph_tui.tui.widgets.text_view import TextView


class DocumentList(TextView):
    """The list of documents; their keys are their names."""

    documents: Sequence[MemoryDocument] = ()

    def show(self, documents: Sequence[MemoryDocument]) -> None:
        self.documents = documents
        blocks: list[LineBlock] = []
        group = ""
        for document in documents:
            if document.group != group:
                group = document.group
                blocks.append(
                    LineBlock(None, [*([[]] if blocks else []), [Span(group, Tone.INFO)]])
                )
            blocks.append(LineBlock(document.name, [_line(document)]))
        self.show_blocks(blocks)

    def show_message(self, text: str, tone: Tone = Tone.MUTED) -> None:
        self.documents = ()
        super().show_message(text, tone)

    def document(self, key: object) -> MemoryDocument | None:
        return next((document for document in self.documents if document.name == key), None)

    def find(self, words: str) -> Sequence[int]:
        wanted = words.casefold()
        found = (p.name for p in self.documents if wanted in f"{p.name}\n{p.text}".casefold())
        return [row for name in found if (row := self.row_of(name)) is not None] if wanted else ()


def _line(document: MemoryDocument) -> Line:
    if document.report is not None:
        return [Span(document.name), Span(f"  round {document.report.round}", Tone.MUTED)]
    if not document.text:
        return [Span(document.name, Tone.MUTED), Span("  none yet", Tone.MUTED)]
    return [
        Span(document.name),
        Span(f"  {plural(len(document.text.splitlines()), 'line')}", Tone.MUTED),
    ]


REREAD_SECONDS = 2.0

AT_ONCE = 20_000
"""Maximum number of characters of a text that is laid out at once; a longer one is laid out in a thread."""


class WrappedBlocks:
    """Blocks that are wrapped in advance, to the expected width."""

    def __init__(self, blocks: Sequence[LineBlock], width: int) -> None:
        self._blocks = blocks
        self._made = (width, [block.folded(width) for block in blocks])

    def at(self, width: int) -> Sequence[LineBlock]:
        if width != self._made[0]:
            self._made = (width, [block.folded(width) for block in self._blocks])
        return self._made[1]


class MemoryPage(ListDetailPage):
    """Shows the list on the left and the text on the right."""

    NAME = "memory"
    AUTO_FOCUS = "#papers"

    choices = getters.query_one("#papers", DocumentList)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        super().__init__()
        del library  # this page shows nothing of the journal
        self._shown: MemoryDocument | None = None

    def body(self) -> Iterable[Widget]:
        with Horizontal(classes="page-body"):
            yield DocumentList(id="papers")
            with Vertical(classes="page-contents"):
                yield TextView(id="text")

    # Reading.

    def opened(self) -> None:
        """Read the documents now and periodically, because sessions and editors write them."""
        self.choices.add_class("page-list")
        self.choices.border_title = "memory and specs"
        self.choices.show_message("loading")
        self._read()
        self.set_interval(REREAD_SECONDS, self._read)

    def view_changed(self, view: LoopView) -> None:
        """Ignore the view, because the files are read periodically."""

    def _read(self) -> None:
        root = self.app.launch.root
        self.read(lambda _: read_documents(root), self._take, group="papers", failed=self._failed)

    def _failed(self, text: str) -> None:
        if self.is_attached:
            self.choices.show_message(text, Tone.BAD)

    def _take(self, documents: list[MemoryDocument]) -> None:
        if not self.is_attached or documents == self.choices.documents:
            return
        self.choices.show(documents)
        self._show(self.choices.document(self.choices.cursor))
        self.search_again()

    def on_blocks_highlighted(self, message: Blocks.Highlighted) -> None:
        self._show(self.choices.document(message.key))

    def _show(self, document: MemoryDocument | None) -> None:
        if document is None or document == self._shown:
            return
        other = self._shown is None or document.name != self._shown.name
        self._shown = document
        self.text.border_title = Content(flat(document.name))
        self.text.border_subtitle = Content(flat(document.note))
        if len(document.text) <= AT_ONCE:
            self._show_blocks(document, self._blocks(document), other=other)
            return
        if other:
            self._show_blocks(
                document, [LineBlock(None, [[Span("loading", Tone.MUTED)]])], other=True
            )
        width = self.text.room
        self.read(
            lambda _: WrappedBlocks(self._blocks(document), width),
            lambda made: self._show_blocks(document, made, other=other),
            group="lines",
            failed=self._failed,
        )

    def _show_blocks(
        self, document: MemoryDocument, made: "list[LineBlock] | WrappedBlocks", *, other: bool
    ) -> None:
        """Show the blocks, unless the cursor has moved meanwhile."""
        if not self.is_attached or document is not self._shown:
            return
        if isinstance(made, WrappedBlocks):
            self.text.show_made(made.at)
        else:
            self.text.show_blocks(made)
        if other:
            self.text.scroll_to(y=0, animate=False, force=True, immediate=True)
        if self.choices.words:
            self.text.search(self.choices.words)
        else:
            self.search_again()

    def _under_cursor(self) -> MemoryDocument | None:
        return self.choices.document(self.choices.cursor)

    def _blocks(self, document: MemoryDocument) -> list[LineBlock]:
        if document.report is not None:
            return parts_blocks(report_parts(document.report, self.app.glyphs))
        if not document.text:
            return [LineBlock(None, [[Span(document.note, Tone.MUTED)]])]
        lacks: list[Line] = [
            [Span(f"{self.app.glyphs.warning} missing: {what}", Tone.WARN)]
            for what in document.missing
        ]
        text = list(markdown_lines(document.text, self.app.glyphs))
        return [LineBlock(None, [*lacks, *([[]] if lacks else []), *text])]

    # Commands.

    def list_view(self) -> DocumentList:
        return self.choices

    def contents(self) -> TextView:
        return self.text

    def search_for(self, words: str) -> None:
        super().search_for(words)
        if self.searched is self.choices:
            self.text.search(words)

    def not_now(self, name: str) -> str:
        """Refuse to edit a text that is not a file."""
        meant = self._under_cursor()
        if name != "edit" or (meant is not None and meant.path is not None):
            return super().not_now(name)
        if meant is None:
            return "The files are still loading."
        if meant.group == ARCHIVE and meant.text:
            return "Archives are read-only."
        was_sent = f"This is the {meant.name} as sent. Edit the files that it was built from."
        return was_sent if meant.text else meant.note

    def do_open(self) -> None:
        self.open_contents()
        if self.choices.words:  # continue the search inside the text
            self.search_in(self.text)
            self.text.repeat_search()

    async def do_edit(self) -> None:
        meant = self._under_cursor()
        if meant is None or meant.path is None:
            return
        try:
            status = await edit(self.app, meant.path)
        except RalphError as error:
            self.app.show_message(str(error), error=True)
            return
        if status:
            self.app.show_message(f"The editor exited with status {status}.")
        self._read()

    def chosen_text(self) -> str:
        return self.shown_text()

    def shown_text(self) -> str:
        shown = self._under_cursor()
        return (inert(shown.text) or self.text.text()) if shown is not None else ""


def editor_command() -> list[str]:
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise RalphError(
            f"The editor command {given!r} cannot be parsed: {error}.", "Correct VISUAL or EDITOR."
        ) from error
    return words or ["vi"]


async def edit(app: "App[int]", path: Path) -> int:
    """Open `path`, wait until the editor ends, and return its exit status."""
    words = editor_command()
    loop = asyncio.get_running_loop()
    try:
        # The loop continues meanwhile; its output is drawn when the screen is back.
        with app.batch_update(), app.suspend():
            loop.add_signal_handler(signal.SIGINT, _nothing)  # ctrl+c belongs to the editor
            try:
                ended = await _run([*words, str(path)])
            finally:
                loop.remove_signal_handler(signal.SIGINT)
    except SuspendNotSupported as error:
        message = "An editor cannot be opened here, because it needs a terminal."
        raise RalphError(
            message, f"Edit {path} elsewhere. Changes appear here automatically."
        ) from error
    if isinstance(ended, OSError):
        message = f"The editor {words[0]!r} cannot be started: {ended.strerror or ended}."
        raise RalphError(message, "Set VISUAL or EDITOR to one that is installed.") from ended
    return ended


async def _run(command: list[str]) -> int | OSError:
    """Return the exit status, or why the editor did not start, because Textual's `suspend` swallows errors."""
    try:
        process = await asyncio.create_subprocess_exec(*command)
        return await process.wait()
    except OSError as error:
        return error


def _nothing() -> None:
    """Ignore the signal."""
