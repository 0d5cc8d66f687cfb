"""The why page: why this task, why blocked, why waiting, why stopped; the guard's log; the breaker."""

from collections.abc import Iterable
from typing import NamedTuple

from textual import getters
from textual.widget import Widget

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.plan.plan_validation import PlanProblem
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import RunHistory
from ralph_tui.engine.control.run_settings import reset_breaker
from ralph_tui.present.sections.guard_log import breaker_view_parts, guard_parts
from ralph_tui.present.sections.why_answers import now_parts
from ralph_tui.present.text.parts import Part, parts_blocks
from ralph_tui.present.text.spans import Span, Tone
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.screens.dialogs.text_input import TextDialog
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.widgets.tabs import ViewTabs
from ralph_tui.tui.widgets.text_view import TextView

VIEWS = ("now", "guard log", "breaker")


class _Known(NamedTuple):
    """What is read from disk, because events do not carry it."""

    chronicle: RunHistory
    breaker: CircuitBreaker


class BreakerReasonDialog(TextDialog):
    """Asks for the reason to close the breaker by hand."""

    HEADING = "Reset the breaker: why may the loop continue?"
    HINT = "This closes the breaker and resets its counters. Your reason is recorded."
    EMPTY = "Type a reason first, or press esc to go back."


class WhyPage(Page):
    """Shows the reasons for the loop's state, the guard's log, and the breaker."""

    NAME = "why"
    AUTO_FOCUS = "#text"

    tabs = getters.query_one(ViewTabs)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary, *, view: str = VIEWS[0]) -> None:
        super().__init__()
        self._library = library
        self._first = view
        self._known: _Known | None = None
        self._checked = Tasks()
        self._problems: tuple[PlanProblem, ...] = ()
        self._drawn: list[Part] = []
        self._read_state: object = None
        self._shown: object = None

    def body(self) -> Iterable[Widget]:
        yield ViewTabs(VIEWS)
        yield TextView(id="text")

    def opened(self) -> None:
        self.tabs.active = self._first
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        if self.app.view.resumes_at is not None:
            self._show()

    def view_changed(self, view: LoopView) -> None:
        read_state = (
            *(view.run_state, view.iteration, len(view.iterations), view.denials, view.breaker),
            *(view.questions, view.feature, view.features),
        )
        if read_state != self._read_state:
            self._read_state = read_state
            self.read(self._read, self._take, group="why", failed=self._failed)
        shown = (*read_state, view.detail, view.task_id, view.questions, view.approval, view.tasks)
        if shown != self._shown:
            self._shown = shown
            self._show()

    def _read(self, progress: Progress) -> _Known:
        project = Project(self.app.launch.root)
        return _Known(self._library.refresh(progress), project.look().breaker)

    def show_progress(self, group: str, at: int, size: int) -> None:
        del group
        if self._known is None and size:
            self.text.border_subtitle = f"reading the journal: {at / size:.0%}"

    def _take(self, known: _Known) -> None:
        self._known = known
        self._show()

    def _failed(self, text: str) -> None:
        self.text.border_subtitle = ""
        self._draw([Part("The journal cannot be read", [[Span(text, Tone.BAD)]])])

    # Showing.

    @property
    def breaker(self) -> CircuitBreaker:
        known = self._known
        return self.app.view.breaker if known is None or self.app.bridge.live else known.breaker

    def _show(self) -> None:
        if not self.is_attached:
            return
        known = self._known
        self.text.border_subtitle = "reading the journal" if known is None else ""
        self._draw(self._parts(known.chronicle if known else RunHistory()))
        self.refresh_keys()

    def _parts(self, chronicle: RunHistory) -> list[Part]:
        view, glyphs, keys = self.app.view, self.app.glyphs, self.app.keys
        if self.tabs.active == "guard log":
            return guard_parts(chronicle.rulings, glyphs)
        if self.tabs.active == "breaker":
            now = self.app.clock()
            return breaker_view_parts(self.breaker, chronicle.breaker, now, glyphs, keys)
        last = chronicle.runs[-1] if chronicle.runs else None
        now, tasks = self.app.clock(), view.tasks
        if not tasks.is_ordered_like(self._checked):  # progress alone causes no problem
            self._problems = ImplementationPlan(tasks=tuple(tasks.values())).problems()
        self._checked = tasks
        return now_parts(view, self._problems, last, chronicle.iterations, now, glyphs, keys)

    def _draw(self, parts: list[Part]) -> None:
        """Show the text if it has changed, so that it does not move while somebody reads."""
        if parts == self._drawn:
            return
        self._drawn = parts
        self.text.border_title = f"why: {self.tabs.active}"
        self.text.show_blocks(parts_blocks(parts))
        self.search_again()

    def on_view_tabs_chosen(self) -> None:
        self._show()
        self.text.scroll_to(y=0, animate=False, force=True, immediate=True)

    # Commands.

    def not_now(self, name: str) -> str:
        if name == "reset_breaker":
            at_rest = self.breaker.state is BreakerState.CLOSED and not any(
                signal.count for signal in self.breaker.signals() if signal.name != "cost"
            )
            return "The breaker is closed, and its counters are at zero." if at_rest else ""
        return super().not_now(name)

    async def do_reset_breaker(self) -> None:
        reason = await self.app.push_screen_wait(BreakerReasonDialog())
        if not reason:
            return
        root = self.app.launch.root
        self.read(
            lambda _: reset_breaker(root, reason),
            self._was_reset,
            group="reset",
        )

    def _was_reset(self, breaker: CircuitBreaker) -> None:
        self.app.show_message(f"Closed the breaker: {breaker.reset_reason}")
        self.read(self._read, self._take, group="why", failed=self._failed)
