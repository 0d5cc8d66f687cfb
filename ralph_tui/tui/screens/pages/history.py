"""The history page: sessions, metrics, forecast.

History
├── StyledLines   totals and forecast
├── ViewTabs      sessions, metrics
└── TextView
"""

from collections.abc import Iterable

from textual import getters
from textual.widget import Widget

from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.metrics import metrics_of
from ralph_tui.domain.view.run_history import RunHistory
from ralph_tui.present.sections.history_totals import forecast_of, metric_parts, totals
from ralph_tui.present.sections.iteration_lines import iteration_blocks
from ralph_tui.present.text.parts import LineBlock, parts_blocks
from ralph_tui.present.text.spans import Span, Tone, wrap
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.widgets.styled import StyledLines
from ralph_tui.tui.widgets.tabs import ViewTabs
from ralph_tui.tui.widgets.text_view import TextView

VIEWS = ("sessions", "metrics")


class HistoryPage(Page):
    """Shows the run history in two views."""

    NAME = "history"
    AUTO_FOCUS = "#text"

    figures = getters.query_one("#figures", StyledLines)
    tabs = getters.query_one(ViewTabs)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        super().__init__()
        self._library = library
        self._newest: RunHistory | None = None
        """The newest sessions, or all of them."""
        self._chronicle: RunHistory | None = None
        """Set once the whole journal has been read."""
        self._known: object = None
        self._error_text = ""

    def body(self) -> Iterable[Widget]:
        yield StyledLines([[Span("reading the journal", Tone.MUTED)], []], id="figures")
        yield ViewTabs(VIEWS)
        yield TextView(id="text")

    # Reading.

    def view_changed(self, view: LoopView) -> None:
        known = (
            *(view.run_state, view.iteration, len(view.iterations)),
            *(view.feature, view.features),
        )
        if known != self._known:
            self._known = known
            self.read(self._read_journal, self._take, group="history", failed=self._failed)

    def _read_journal(self, progress: Progress) -> RunHistory:
        if self._chronicle is None and (recent := self._library.recent()) is not None:
            self.call_later(self._take_recent, recent)
        return self._library.refresh(progress)

    def _take_recent(self, recent: RunHistory) -> None:
        if self.is_attached and self._chronicle is None:
            self._newest = recent
            self._show_text()

    def show_progress(self, _: str, at: int, size: int) -> None:
        if size and self._chronicle is None:
            self._show_message(f"reading the journal: {at / size:.0%}")

    def _show_message(self, text: str, tone: Tone = Tone.MUTED) -> None:
        lines = wrap(text, max(20, self.size.width - 4))[:2]
        self.figures.show_lines([[Span(line, tone)] for line in lines] + [[]] * (2 - len(lines)))

    def _failed(self, text: str) -> None:
        if self.is_attached:
            self._error_text = text
            self._show_message("The journal cannot be read.", Tone.BAD)
            self._show_text()

    def _take(self, past: RunHistory) -> None:
        if not self.is_attached:
            return
        self._chronicle = self._newest = past
        self._show_figures()
        self._show_text()
        self.refresh_keys()

    # Showing.

    @property
    def _forecast(self) -> Forecast:
        tasks = self.app.view.tasks
        left = len(tasks) - tasks.complete
        return forecast_of(self._chronicle or RunHistory(), left if tasks else None)

    def _show_figures(self) -> None:
        if self._chronicle is not None:
            width = max(20, self.size.width - 4)
            lines = totals(self._chronicle, self._forecast, width, self.app.glyphs, self.app.keys)
            self.figures.show_lines(lines)

    def _blocks(self) -> list[LineBlock]:
        if self._error_text:
            return [LineBlock(None, [[Span(self._error_text, Tone.BAD)]])]
        if self._chronicle is None:
            return [LineBlock(None, [[Span("reading the journal", Tone.MUTED)]])]
        return parts_blocks(metric_parts(metrics_of(self._chronicle), self.app.glyphs))

    def _show_text(self) -> None:
        self.text.border_title = self.tabs.active
        self.text.border_subtitle = ""
        shown, glyphs = self._newest, self.app.glyphs
        if self.tabs.active == "sessions" and shown is not None and not self._error_text:
            if self._chronicle is None:
                self.text.border_subtitle = "newest sessions, still reading the rest"
            known = (shown.iterations, shown.runs)
            self.text.show_made(lambda width: iteration_blocks(*known, max(20, width), glyphs))
        else:
            self.text.show_blocks(self._blocks())
        self.search_again()

    def on_resize(self) -> None:
        self._show_figures()

    def on_view_tabs_chosen(self) -> None:
        self._show_text()
        self.refresh_keys()

    # Commands.

    def not_now(self, name: str) -> str:
        """Refuse to copy all before the journal is read, and to open outside the sessions."""
        if name == "share" and self._chronicle is None:
            return "The journal is still loading."
        if name == "open" and self.tabs.active != "sessions":
            return self.app.keys.said(
                "Choose a session first. Press {history.look} to switch to the sessions."
            )
        return super().not_now(name)

    def do_open(self) -> None:
        if self.text.cursor is not None:
            self.app.switch_screen(IterationsPage(self._library, wanted=f"@{self.text.cursor}"))

    def on_row_list_opened(self) -> None:
        if not self.not_now("open"):
            self.do_open()
