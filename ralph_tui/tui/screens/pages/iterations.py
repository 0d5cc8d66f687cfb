"""The iterations page: what each iteration did and changed, and how it ended.

Iterations
├── IterationList    every iteration, newest first, grouped by run
├── ViewTabs         activity, changes, summary
└── Transcript | TextView
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from textual import getters
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import Iteration, Run, RunHistory
from ralph_tui.present.sections.iteration_lines import iteration_blocks, look_of, summary_parts
from ralph_tui.present.text.parts import Part, parts_blocks
from ralph_tui.present.text.spans import Span, Tone, flat
from ralph_tui.present.timeline.changed_files import change_parts
from ralph_tui.present.timeline.entries import CallEntry
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.timeline.entry_lines import entries_text
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.store.journal.journal_library import MAX_EVENTS, JournalLibrary
from ralph_tui.tui.screens.dialogs.text_reader import ToolDetail
from ralph_tui.tui.screens.pages.page import ListDetailPage
from ralph_tui.tui.widgets.blocks import Blocks
from ralph_tui.tui.widgets.row_list import Key
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.tabs import ViewTabs
from ralph_tui.tui.widgets.text_view import TextView


class IterationList(TextView):
    """The list of iterations; their keys are positions in the journal."""

    _chronicle = RunHistory()

    def show(self, chronicle: RunHistory, cursor: Key | None = None) -> None:
        self._chronicle = chronicle
        known = (chronicle.iterations, chronicle.runs)
        self.show_made(
            lambda room: iteration_blocks(*known, max(20, room), self.app.glyphs), cursor
        )

    def show_message(self, text: str, tone: Tone = Tone.MUTED) -> None:
        self._chronicle = RunHistory()
        super().show_message(text, tone)

    def count(self, iterations: int, unreadable: int) -> None:
        self.border_title = f"iterations {iterations:,}"
        self.border_subtitle = f"{plural(unreadable, 'line')} unreadable" if unreadable else ""

    def find(self, words: str) -> Sequence[int]:
        """Return the first rows of iterations that contain the words, even in the cut part of a title."""
        wanted = words.casefold()
        its = self._chronicle.iterations
        found = (it.start for it in reversed(its) if wanted and wanted in _text(it).casefold())
        return [row for key in found if (row := self.row_of(key)) is not None]


def _text(it: Iteration) -> str:
    return f"{it.number} {it.task_id} {look_of(it).word}\n{it.title}\n{it.reason}"


VIEWS = ("activity", "changes", "summary")


class _Loaded(NamedTuple):
    """An iteration read from the journal."""

    iteration: Iteration
    is_cut: bool
    """Whether only its first events were read."""
    timeline: Timeline
    changes: list[Part]


class IterationsPage(ListDetailPage):
    """Shows the list on the left and the selected iteration on the right."""

    NAME = "iterations"
    AUTO_FOCUS = "#iterations"

    choices = getters.query_one("#iterations", IterationList)
    tabs = getters.query_one(ViewTabs)
    text = getters.query_one("#text", TextView)
    transcript = getters.query_one("#transcript", Transcript)

    def __init__(self, library: JournalLibrary, *, wanted: str = "") -> None:
        """Show the iteration that `wanted` names (see `RunHistory.find`), or else the last."""
        super().__init__()
        self._library = library
        self._wanted = wanted
        self._chronicle = RunHistory()
        self._whole = False
        """Whether the whole journal has been read."""
        self._shown: _Loaded | None = None
        self._known: object = None

    def body(self) -> Iterable[Widget]:
        roots = tuple({str(self.app.launch.root): None, str(self.app.launch.root.resolve()): None})
        with Horizontal(classes="page-body"):
            yield IterationList(id="iterations")
            with Vertical(classes="page-contents"):
                yield ViewTabs(VIEWS)
                yield Transcript(roots, id="transcript")
                yield TextView(id="text")

    # Reading.

    def opened(self) -> None:
        self.choices.border_title = "iterations"
        self.transcript.display, self.text.display = True, False
        self._show_message("reading the journal")

    def view_changed(self, view: LoopView) -> None:
        last = view.iterations[-1].seq if view.iterations else 0
        known = (view.feature, view.features, view.iteration, last)
        if known != self._known:
            self._known = known
            self.read(self._read_journal, self._show_list, group="list", failed=self._failed)

    def _read_journal(self, progress: Progress) -> RunHistory:
        if not self._whole and (recent := self._library.recent()) is not None:
            self.call_later(self._show_recent, recent)
        return self._library.refresh(progress)

    def show_progress(self, group: str, at: int, size: int) -> None:
        if group != "list" or self._whole or not size:
            return
        if self._chronicle.iterations:
            self.choices.border_subtitle = f"reading the rest: {at / size:.0%}"
        else:
            self._show_message(f"reading the journal: {at / size:.0%}")

    def _show_recent(self, chronicle: RunHistory) -> None:
        """Show the newest iterations, unless the wanted one may be older."""
        wanted = chronicle.find(self._wanted) if self._wanted[:1] in ("", "@") else None
        if self.is_attached and not self._whole and wanted is not None:
            self._chronicle, self._wanted = chronicle, ""
            self.choices.show(chronicle, wanted.start)

    def _failed(self, text: str) -> None:
        self._show_message(text, Tone.BAD)

    def _show_message(self, text: str, tone: Tone = Tone.MUTED) -> None:
        if self.is_attached:
            self.choices.show_message(text, tone)

    def _show_list(self, chronicle: RunHistory) -> None:
        if not self.is_attached:
            return
        self._chronicle, self._whole = chronicle, True
        if not chronicle.iterations:
            self._show_message(
                self.app.keys.said("No iterations yet. Press {build} to start the loop.")
            )
            return
        self.choices.count(len(chronicle.iterations), self._library.unreadable)
        chosen = self.choices.cursor is not None
        wanted = chronicle.find(self._wanted) if self._wanted or not chosen else None
        self._wanted = ""
        self.choices.show(chronicle, wanted.start if wanted else None)

    def on_blocks_highlighted(self, message: Blocks.Highlighted) -> None:
        found = next((i for i in self._chronicle.iterations if i.start == message.key), None)
        if found is None or (self._shown and self._shown.iteration == found):
            return
        self.read(
            lambda _: self._load(found), self._show, group="iteration", failed=self._failed_to_load
        )

    def _load(self, iteration: Iteration) -> _Loaded:
        events = self._library.events(iteration.start, iteration.end)
        timeline = self.transcript.timeline_of(events)
        calls = [entry.call for entry in timeline.entries if isinstance(entry, CallEntry)]
        parts = change_parts(calls, iteration.files, self.app.glyphs)
        return _Loaded(iteration, len(events) >= MAX_EVENTS, timeline, parts)

    def _failed_to_load(self, text: str) -> None:
        self.text.show_message(text, Tone.BAD)
        self.tabs.active = "summary"

    def _show(self, loaded: _Loaded) -> None:
        if not self.is_attached:
            return
        self._shown = loaded
        self.transcript.restart(loaded.timeline)
        it, look = loaded.iteration, look_of(loaded.iteration)
        between = f" {self.app.glyphs.between} "
        title = between.join((f"iteration {it.number}", flat(it.task_id), look.word))
        cut = between + f"the first {MAX_EVENTS:,} events" if loaded.is_cut else ""
        self.transcript.border_title = Content(title + cut)
        self.text.border_title = Content(title)
        self._show_text()
        self.search_again()
        self.refresh_keys()

    @property
    def _run(self) -> Run | None:
        shown = self._shown
        runs = self._chronicle.runs
        return next((r for r in runs if shown and r.run_id == shown.iteration.run_id), None)

    def _show_text(self) -> None:
        if self._shown is None:
            return
        if self.tabs.active == "changes":
            parts = self._shown.changes or [
                Part("No changes", [[Span("This iteration changed no files.", Tone.MUTED)]])
            ]
        else:
            parts = summary_parts(self._shown.iteration, self._run, self.app.glyphs)
        self.text.show_blocks(parts_blocks(parts))

    # Views.

    def on_view_tabs_chosen(self, message: ViewTabs.Chosen) -> None:
        activity = message.view == "activity"
        had_focus = self.contents().has_focus
        self.transcript.display = activity
        self.text.display = not activity
        self._show_text()
        if had_focus or self.is_reading:
            self.contents().focus()
        self.search_again()

    def list_view(self) -> IterationList:
        return self.choices

    def contents(self) -> Transcript | TextView:
        return self.transcript if self.transcript.display else self.text

    # Commands.

    def do_look(self) -> None:
        self.show_contents()
        super().do_look()

    def do_newer(self) -> None:
        self.choices.action_cursor(-1)

    def do_older(self) -> None:
        self.choices.action_cursor(1)

    def do_filter(self) -> None:
        self.show_contents()
        self.transcript.filter_entries(self.transcript.entry_filter.next())
        self.search_again()

    def not_now(self, name: str) -> str:
        """Refuse to filter or undo without an iteration, and to undo while a loop runs."""
        if name in ("filter", "undo") and self._shown is None:
            return "Choose an iteration first."
        if name == "filter" and not self.transcript.display:
            return self.app.keys.said(
                "Only the activity can be filtered. Press {iterations.look} to switch to it."
            )
        if name == "undo" and self.app.bridge.live:
            return self.app.keys.said("The loop is running. Press {stop} to stop it, then undo.")
        return super().not_now(name)

    def do_open(self) -> None:
        if self.choices.has_focus:
            self.open_contents()
        elif self.transcript.has_focus and (entry := self.transcript.selected):
            self.app.push_screen(ToolDetail(detail_of(entry, self.app.glyphs)))

    async def do_undo(self) -> None:
        from ralph_tui.tui.screens.dialogs.preview import undo_work

        if self._shown is not None:
            number = str(self._shown.iteration.number)
            await undo_work(self.app, number, f"iteration {number}")

    def chosen_text(self) -> str:
        return "" if self.text.display else flat_lines(self.transcript.selected_text())

    def shown_text(self) -> str:
        if self.text.display:
            return flat_lines(self.text.text())
        return entries_text(self.transcript.shown(), self.app.glyphs)


def flat_lines(text: str) -> str:
    return "\n".join(flat(line) for line in text.splitlines())
