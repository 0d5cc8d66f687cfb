"""The first line of a page: which pages there are, and what the loop does meanwhile."""

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive

from ralph_tui.domain.view import LoopView
from ralph_tui.tui.page_commands import PAGES
from ralph_tui.tui.render.figures import money
from ralph_tui.tui.render.spans import Line, Span, Tone, row, width_of
from ralph_tui.tui.render.states import look_of
from ralph_tui.tui.widgets.links import LinkLine


class PageHead(LinkLine):
    """One line; the page in sight is marked, the others can be clicked."""

    GAP = " "

    active: reactive[str] = reactive("")
    view: reactive[LoopView] = reactive(LoopView())

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Key and name of each page; where that is too long, the keys of the others."""
        whole = self._links(named=True)
        room = width - sum(width_of(line) + len(self.GAP) for _, line in whole)
        return whole if room >= 0 else self._links(named=False)

    def _links(self, *, named: bool) -> list[tuple[str, Line]]:
        return [
            ("close", (Span("esc", Tone.ACCENT), Span(" back", Tone.MUTED))),
            *((name, self._line(name, named=named or name == self.active)) for name in PAGES),
        ]

    def _line(self, name: str, *, named: bool) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else " "
        return (
            Span(f"{mark} ", Tone.ACCENT),
            Span(self.app.keys.label(name), Tone.ACCENT if chosen else Tone.MUTED),
            Span(f" {name}" if named else "", Tone.TITLE if chosen else Tone.MUTED),
        )

    def render(self) -> Content:
        """The pages at the left, the loop's state at the right."""
        width = self.content_size.width
        left: list[Span] = []
        for _, line in self.links(width):
            left += [Span(self.GAP), *line] if left else line
        return self.content([row(left, self._state(width - width_of(left) - 2), width)])

    def _state(self, room: int) -> Line:
        """State, task and cost; dropped whole, the last first."""
        look = look_of(self.view)
        state = Span(f"{getattr(self.app.glyphs, look.glyph)} {look.word}", look.tone)
        task = [Span(f"  {self.view.task_id}", Tone.MUTED)] if self.view.task_id else []
        spent = self.view.costs.session  # nothing is said of a run that is over
        cost = [Span(f"  {money(spent)}", Tone.MUTED)] if spent else []
        for spans in ([state, *task, *cost], [state, *task], [state]):
            if width_of(spans) <= room:
                return spans
        return []
