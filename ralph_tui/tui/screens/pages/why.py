"""The why page: why this task, why blocked, why waiting, why stopped; the guard's log; the breaker."""

from collections.abc import Iterable
from typing import NamedTuple

from textual import getters
from textual.widget import Widget

from ralph_tui.domain.plan.task_map import Checked
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import Chronicle
from ralph_tui.engine.control.run_settings import reset_breaker
from ralph_tui.present.sections.guard_log import breaker_view_parts, guard_parts
from ralph_tui.present.sections.why_answers import now_parts
from ralph_tui.present.text.parts import Part, parts_blocks
from ralph_tui.present.text.spans import Span, Tone
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.store.typed_texts import REASON
from ralph_tui.tui.commands.context import goes_on_at
from ralph_tui.tui.screens.dialogs.text_input import TextDialog
from ralph_tui.tui.screens.pages.page import Handler, Page
from ralph_tui.tui.widgets.tabs import ViewTabs
from ralph_tui.tui.widgets.text_view import TextView

VIEWS = ("now", "guard log", "breaker")


class _Known(NamedTuple):
    """What is read from disk, because no event says so."""

    chronicle: Chronicle
    breaker: CircuitBreaker


class BreakerReasonDialog(TextDialog):
    """Asks why the breaker is closed by hand."""

    HEADING = "why may the loop continue?"
    KIND = REASON
    HINT = "The breaker closes with its counters at zero; your reason is kept beside them."
    EMPTY = "A reset needs a reason; esc goes back."


class WhyPage(Page):
    """Shows the reasons, which change with the view."""

    NAME = "why"
    AUTO_FOCUS = "#text"

    tabs = getters.query_one(ViewTabs)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        """Read nothing yet."""
        super().__init__()
        self._library = library
        self._known: _Known | None = None
        self._checked = Checked()
        self._drawn: list[Part] = []
        self._told: object = None
        self._shown: object = None

    def body(self) -> Iterable[Widget]:
        """Yield the views and their text."""
        yield ViewTabs(VIEWS)
        yield TextView(id="text")

    def opened(self) -> None:
        """Read the journal, and count down every second."""
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        if goes_on_at(self.app.view) is not None:
            self._show()

    def changed(self, view: LoopView) -> None:
        """Show what the view knows; read what is new in the journal when there may be something."""
        told = (
            *(view.run_state, view.iteration, len(view.iterations), view.denials, view.breaker),
            *(view.questions, view.feature, view.features),
        )
        if told != self._told:
            self._told = told
            self.read(self._read, self._take, group="why", failed=self._failed)
        shown = (*told, view.detail, view.task_id, view.questions, view.approval, view.tasks)
        if shown != self._shown:
            self._shown = shown
            self._show()

    def _read(self, progress: Progress) -> _Known:
        project = Project(self.app.launch.root)
        return _Known(self._library.refresh(progress), project.look().breaker)

    def progressed(self, group: str, at: int, size: int) -> None:
        """Show how far the first reading is."""
        del group
        if self._known is None and size:
            self.text.border_subtitle = f"reading the journal: {at / size:.0%}"

    def _take(self, known: _Known) -> None:
        self._known = known
        self._show()

    def _failed(self, text: str) -> None:
        self.text.border_subtitle = ""
        self._draw([Part("It cannot be read", [[Span(text, Tone.BAD)]])])

    # Showing.

    @property
    def breaker(self) -> CircuitBreaker:
        """The breaker of the running loop, or as it is on disk while none runs."""
        live = self.app.situation().running or self._known is None
        return self.app.view.breaker if live or self._known is None else self._known.breaker

    def _show(self) -> None:
        if not self.is_attached:
            return
        known = self._known
        if known is None:
            self.text.border_subtitle = "reading the journal"
        else:
            self.text.border_subtitle = ""
        self._draw(self._parts(known.chronicle if known else Chronicle()))
        self.refresh_keys()

    def _parts(self, chronicle: Chronicle) -> list[Part]:
        view, glyphs, keys = self.app.view, self.app.glyphs, self.app.keys
        if self.tabs.active == "guard log":
            return guard_parts(chronicle.rulings, glyphs)
        if self.tabs.active == "breaker":
            now = self.app.clock()
            return breaker_view_parts(self.breaker, chronicle.breaker, now, glyphs, keys)
        last = chronicle.runs[-1] if chronicle.runs else None
        self._checked = self._checked.again(view.tasks)
        problems, now = self._checked.problems, self.app.clock()
        return now_parts(view, problems, last, chronicle.iterations, now, glyphs, keys)

    def _draw(self, parts: list[Part]) -> None:
        """Draw the text if it has changed, so that nothing jumps while somebody reads."""
        if parts == self._drawn:
            return
        self._drawn = parts
        self.text.border_title = f"why: {self.tabs.active}"
        self.text.show_blocks(parts_blocks(parts))
        self.search_again()

    def on_view_tabs_chosen(self) -> None:
        """Show another view from its top."""
        self._show()
        self.text.scroll_to(y=0, animate=False, force=True, immediate=True)

    def searched_in(self) -> TextView:
        """The text."""
        return self.text

    # Commands.

    def not_now(self, name: str) -> str:
        """Refuse to reset a breaker that is closed."""
        if name == "reset_breaker":
            at_rest = self.breaker.state is BreakerState.CLOSED and not any(
                signal.count for signal in self.breaker.signals() if signal.name != "cost"
            )
            return "The breaker is closed and counts nothing." if at_rest else ""
        return super().not_now(name)

    def handlers(self) -> dict[str, Handler]:
        """Add the page's own commands."""
        return {**super().handlers(), "look": self.do_look, "reset_breaker": self.do_reset_breaker}

    def do_look(self) -> None:
        """Show the next view."""
        self.tabs.next()

    async def do_reset_breaker(self) -> None:
        """Close the breaker, after asking why."""
        reason = await self.app.push_screen_wait(BreakerReasonDialog())
        if not reason:
            return
        root = self.app.launch.root
        self.read(
            lambda _: reset_breaker(root, reason),
            self._was_reset,
            group="reset",
            failed=self._not_reset,
        )

    def _was_reset(self, breaker: CircuitBreaker) -> None:
        self.app.say(f"The breaker is closed: {breaker.reset_reason}")
        self.read(self._read, self._take, group="why", failed=self._failed)

    def _not_reset(self, text: str) -> None:
        self.app.say(text, error=True)

    def shown_text(self) -> str:
        """Return the whole view."""
        return self.text.text()
