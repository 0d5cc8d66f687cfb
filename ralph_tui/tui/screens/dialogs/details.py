"""Shows a task or an entry of the stream in full."""

import asyncio
from collections.abc import Iterable

from textual.content import Content
from textual.widgets import Static

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import TaskHistory
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text.diffs import Diff, read_diff
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Span, Tone, text_chunks
from ralph_tui.present.timeline.entry_detail import Detail
from ralph_tui.present.tools.calls import Section, SectionKind
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.dialogs.text_reader import ReaderPart, TextReader
from ralph_tui.tui.widgets.diff_view import DiffView, diff_views


class TaskDetail(TextReader):
    """Shows a task: description, criteria with receipts, dependencies both ways, reasons, attempts, notes."""

    def __init__(self, task: Task, view: LoopView, library: JournalLibrary) -> None:
        super().__init__()
        self._shown = task
        self._view = view
        self._library = library
        self._past: TaskHistory | None = None
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
            self._past = await asyncio.to_thread(self._library.task_past, self._shown.id)
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
