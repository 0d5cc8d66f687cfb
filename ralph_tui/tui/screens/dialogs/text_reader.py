"""A frame with text to read, scroll, search and copy: the base of details and help.

The visible part of a long text is mounted at once; the rest is added in pieces, between which keys are handled.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import RunHistory
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text.diffs import FOLD, GUTTER, Diff, read_diff
from ralph_tui.present.text.parts import Part, parts_text
from ralph_tui.present.text.spans import (
    CHUNK_LINES,
    Line,
    Span,
    Tone,
    flat,
    fold,
    hang,
    plain,
    text_chunks,
    to_edge,
)
from ralph_tui.present.timeline.entry_detail import Detail
from ralph_tui.present.tools.calls import Section, SectionKind
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.host.widget_host import do
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.scroll_text import ScrollText
from ralph_tui.tui.widgets.styled import WrappedText


def diff_views(diff: Diff, classes: str, *, first: int) -> Iterator["DiffView"]:
    """Return widgets that show a diff, one below the other.

    Args:
        first: Lines of the first widget, which is all that is visible at first.
    """
    most = len(diff.sides)
    for start, end in pairwise([0, *range(first, most, CHUNK_LINES), most]):
        yield DiffView(diff, range(start, end), classes if end == most else f"{classes} -goes-on")


class DiffView(WrappedText):
    """Shows some of the lines of a diff."""

    def __init__(self, diff: Diff, shown: range, classes: str) -> None:
        super().__init__(classes=classes)
        self._diff = diff
        self.shown = shown
        self._continued: dict[int, int] = {}
        """Rows that continue the line above, each with the length of the row above."""

    def lines_at(self, width: int) -> Iterator[Line]:
        self._continued.clear()
        glyphs, row = self.app.glyphs, 0
        for index in self.shown:
            line = self._diff.line(index, glyphs)
            is_fold = self._diff.sides[index].sign == FOLD
            rows = fold(line, width) if is_fold else hang(line, 2, width)
            for before, _ in pairwise(rows):
                row += 1
                self._continued[row] = len(plain(before))
            row += 1
            yield from (to_edge(line, width) for line in rows)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text; the rows of a wrapped line are joined."""
        found = super().get_selection(selection)
        if found is None:
            return None
        start = selection.start or Offset()
        lines: list[str] = []
        for row, row_text in enumerate(found[0].split("\n"), start.y):
            before = start.x if row == start.y else 0
            text = row_text[: max(0, self._continued.get(row + 1, len(row_text) + before) - before)]
            if lines and row in self._continued:
                lines[-1] += text[GUTTER:]
            else:
                lines.append(text)
        return "\n".join(line.rstrip() for line in lines), found[1]


class ReaderPart(NamedTuple):
    """A text widget, and its minimum number of rows."""

    text: Widget
    rows: int = 1


_INDENT = Span("  ")


class PartsText(WrappedText):
    """Titled blocks; long lines wrap."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(classes="parts")
        self._parts = parts

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show other blocks, unless they are the same."""
        if parts != self._parts:
            self._parts = parts
            self.rewrap()

    def lines_at(self, width: int) -> Iterable[Line]:
        """Yield the lines of all blocks, each at most `width` cells wide."""
        for at, part in enumerate(self._parts):
            if at:
                yield []
            yield [Span(part.title, Tone.HEADING)]
            for line in part.lines:
                yield from ([_INDENT, *piece] for piece in fold(line, width - len(_INDENT.text)))


class TextReader(Dialog[None]):
    """A frame of titled blocks, or of other widgets that a subclass yields."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll('down')", show=False),
        Binding("k", "scroll('up')", show=False),
        Binding("g", "scroll('home')", show=False),
        Binding("G,shift+g", "scroll('end')", show=False),
        Binding("ctrl+d", "scroll('page_down')", show=False),
        Binding("ctrl+u", "scroll('page_up')", show=False),
        Binding("q,enter", "cancel", show=False),
    ]
    KEYS = "esc close, {search} search, {copy} copy, {share} export"
    STEM = "detail"

    _rest: Iterator[ReaderPart] = iter(())

    def reader_title(self) -> str:
        raise NotImplementedError

    def blocks(self) -> list[Part]:
        return []

    def parts(self) -> Iterable[ReaderPart]:
        yield ReaderPart(PartsText(self.blocks()))

    def compose_frame(self) -> Iterable[Widget]:
        with ScrollText(classes="dialog -large", id="reader") as frame:
            frame.border_title = Content(flat(self.reader_title()))
            self._rest = iter(self.parts())
            yield from self._visible_parts()

    def _visible_parts(self) -> Iterable[Widget]:
        left = self.app.size.height
        while left > 0 and (shown := next(self._rest, None)) is not None:
            left -= shown.rows
            yield shown.text

    def on_mount(self) -> None:
        """Focus the frame, so that arrow keys scroll, and start to add the rest."""
        reader = self.search_target()
        reader.focus()
        self.watch(reader, "show_vertical_scrollbar", self.update_footer, init=False)
        self.call_after_refresh(self._add_next)

    def footer_text(self) -> str:
        scrolls = "; j k scroll" if self.search_target().show_vertical_scrollbar else ""
        return f"{super().footer_text()}{scrolls}"

    async def _add_next(self) -> None:
        # Whatever screen is on top calls this, also one below while this one closes and its widgets go.
        if self.is_running and await self._add(1):
            self.call_after_refresh(self._add_next)

    async def _add(self, most: int | None) -> bool:
        frame = self.query_one("#reader", ScrollText)
        more = [shown.text for shown in islice(self._rest, most)]
        if more:
            await frame.mount(*more)
            if self.is_running:
                frame.repeat_search()
        return bool(more)

    async def action_scroll(self, where: str) -> None:
        """Scroll without animation; mount all texts before scrolling to the end."""
        if where == "end":
            await self._add(None)
        scroll = getattr(self.query_one("#reader", ScrollText), f"scroll_{where}")
        scroll(animate=False)

    def search_target(self) -> ScrollText:
        return self.query_one("#reader", ScrollText)

    def refresh_blocks(self) -> None:
        """Show the blocks as they are now, without scrolling."""
        if not self.is_attached:
            return
        if shown := self.query(PartsText):
            shown.first().show_parts(self.blocks())
        else:  # not mounted yet, but created from the blocks as they were
            self.call_after_refresh(self.refresh_blocks)

    def full_text(self) -> str:
        return parts_text(self.blocks())


class TaskDetail(TextReader):
    """Shows a task: description, criteria with receipts, dependencies both ways, reasons, attempts, notes."""

    def __init__(self, task: Task, view: LoopView, library: JournalLibrary) -> None:
        super().__init__()
        self._shown = task
        self._view = view
        self._library = library
        self._past: RunHistory | None = None
        self._error_text = ""

    def reader_title(self) -> str:
        return f"task {self._shown.id}"

    def blocks(self) -> list[Part]:
        parts = task_parts(self._shown, self._view, self._past, self.app.glyphs)
        if self._error_text:
            parts.append(Part("Attempts so far", [[Span(self._error_text, Tone.BAD)]]))
        return parts

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(
            self.app, "view", self._follow, init=True
        )  # the task may have changed since Enter
        self._read_attempts()

    def _follow(self, view: LoopView) -> None:
        ended = view.iterations != self._view.iterations
        self._view, self._shown = view, view.tasks.get(self._shown.id, self._shown)
        if ended:
            self._read_attempts()
        self.refresh_blocks()

    def _read_attempts(self) -> None:
        do(self, self._read(), "past", exclusive=True)

    async def _read(self) -> None:
        try:
            self._past = await asyncio.to_thread(self._library.refresh)
            self._error_text = ""
        except RalphError as error:
            self._past, self._error_text = None, one_line(str(error))
        self.refresh_blocks()


class ToolDetail(TextReader):
    """Shows the sections of an entry of the stream."""

    def __init__(self, detail: Detail) -> None:
        super().__init__()
        self._detail = detail

    def reader_title(self) -> str:
        return self._detail.title

    def parts(self) -> Iterable[ReaderPart]:
        if self._detail.facts:
            yield ReaderPart(Static(Content(inert(self._detail.facts)), classes="facts"))
        for section in self._detail.sections:
            yield ReaderPart(Static(Content(inert(section.title)), classes="section-title"))
            yield from self._body(section)

    def _body(self, section: Section) -> Iterable[ReaderPart]:
        body, classes = inert(section.body).expandtabs(4), f"section -{section.kind}"
        if section.kind is SectionKind.DIFF:
            diff = Diff(read_diff(body.splitlines()), self._detail.path)
            if not diff.is_colored:
                do(self, self._color(diff), "colors")
            for view in diff_views(diff, classes, first=self.app.size.height):
                yield ReaderPart(view, len(view.shown))
            return
        *before, last = text_chunks(body, self.app.size.height)
        for piece in before:
            yield self._piece(piece, f"{classes} -goes-on")
        yield self._piece(last, classes)

    def _piece(self, text: str, classes: str) -> ReaderPart:
        rows = max(text.count("\n") + 1, len(text) // self.app.size.width)
        return ReaderPart(Static(Content(text), classes=classes), rows)

    async def _color(self, diff: Diff) -> None:
        await asyncio.to_thread(diff.color)
        for view in self.query(DiffView):
            view.rewrap()

    def full_text(self) -> str:
        return inert(self._detail.text)
