"""The top of the screen: the dashboard's header and banner, and the head of a page."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.content import Content
from textual.geometry import Region
from textual.reactive import reactive
from textual.timer import Timer

from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.banner import Banner
from ralph_tui.present.sections.header_lines import Facts, header_lines
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.spans import Line, Span, Tone, flat, row, width_of
from ralph_tui.present.text.status_labels import BUSY, look_of
from ralph_tui.tui.commands.registry import PAGES
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.styled import StyledWidget


class BannerFrame(StyledWidget):
    """Shows the banner; hidden while the loop runs."""

    banner: reactive[Banner | None] = reactive(None, layout=True)

    def watch_banner(self, banner: Banner | None) -> None:
        self.display = banner is not None
        if banner is None:
            return
        look = banner.look
        self.border_title = Content(flat(f"{getattr(self.app.glyphs, look.glyph)} {look.word}"))
        for tone in (Tone.OK, Tone.INFO, Tone.WARN, Tone.BAD):
            self.set_class(look.tone is tone, f"-{tone}")

    def on_resize(self) -> None:
        self.refresh(layout=True)

    def render(self) -> Content:
        if self.banner is None:
            return Content("")
        width = self.content_size.width or self.app.size.width - 4
        alone = self.screen.has_class("-narrow")
        return self.content(self.banner.lines(max(20, width), alone=alone))


SPINNER_SECONDS = 0.25


class Header(StyledWidget):
    """Shows state, project, phase, iteration, elapsed time; the current task and why it was chosen."""

    view: reactive[LoopView] = reactive(LoopView())
    elapsed: reactive[float] = reactive(0.0, repaint=False)
    frame: reactive[int] = reactive(0, repaint=False)
    slow: reactive[bool] = reactive(default=False)

    _spinner: Timer | None = None

    def watch_elapsed(self) -> None:
        self.refresh(Region(0, 0, self.size.width, 1))

    def watch_frame(self) -> None:
        self.watch_elapsed()

    def on_mount(self) -> None:
        if self.app.animation_level != "none":
            self._spinner = self.set_interval(SPINNER_SECONDS, self._next_frame, pause=True)

    def watch_view(self, view: LoopView) -> None:
        if self._spinner is not None:
            if view.run_state in BUSY:
                self._spinner.resume()
            else:
                self._spinner.pause()

    def _next_frame(self) -> None:
        self.frame += 1

    def render(self) -> Content:
        facts = Facts(
            view=self.view,
            label=self.app.launch.label,
            root=str(self.app.launch.root),
            elapsed=self.elapsed,
            keys=self.app.keys,
            frame=self.frame if self._spinner else None,
            slow=self.slow,
        )
        return self.content(header_lines(facts, max(20, self.content_size.width), self.app.glyphs))


BETWEEN = 2
"""Minimum number of cells between the pages and the state."""


class HeaderForm(NamedTuple):
    """How much of each page the head shows."""

    gap: int = 2
    """Cells before each page."""
    back: bool = True
    """Whether the head shows what `esc` does."""
    named: bool = True
    """Whether the other pages are shown with their names and not only their keys."""


FORMS = (HeaderForm(), HeaderForm(gap=1), HeaderForm(gap=1, back=False), HeaderForm(named=False))
"""The forms, from the widest to the shortest."""

STATE_CELLS = 11
"""Cells reserved for the loop's state, such as `◆ verifying`, so that the pages do not move when it changes."""


class PageHead(LinkLine):
    """The pages in one line; the open one is marked, the others can be clicked."""

    GAP = ""

    active: reactive[str] = reactive("")
    view: reactive[LoopView] = reactive(LoopView())

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """Return key and name of each page, in the widest form that leaves room for the loop's state."""
        room = width - BETWEEN - max(STATE_CELLS, width_of([self._look()]))
        forms = (self._links(form) for form in FORMS[:-1])
        fits = (links for links in forms if sum(width_of(line) for _, line in links) <= room)
        return next(fits, None) or self._links(FORMS[-1])

    def _links(self, form: HeaderForm) -> list[tuple[str, Line]]:
        back = (Span("esc", Tone.ACCENT), Span(" back" if form.back else "", Tone.MUTED))
        return [("close", back), *((name, self._line(name, form)) for name in self._pages())]

    def _pages(self) -> Sequence[str]:
        return [n for n in PAGES if n != "features" or self.view.features or self.active == n]

    def _line(self, name: str, form: HeaderForm) -> Line:
        chosen = name == self.active
        mark = self.app.glyphs.current if chosen else " "
        return (
            Span(" " * form.gap),
            Span(mark, Tone.ACCENT),
            Span(self.app.keys.label(name), Tone.ACCENT if chosen else Tone.MUTED),
            Span(f" {name}" if form.named or chosen else "", Tone.TITLE if chosen else Tone.MUTED),
        )

    def render(self) -> Content:
        width = self.content_size.width
        left = [span for _, line in self.links(width) for span in line]
        room = min(
            width - width_of(left) - BETWEEN, width // 2
        )  # `row` gives the right side at most half
        return self.content([row(left, self._state(room), width)])

    def _look(self) -> Span:
        look = look_of(self.view)
        return Span(f"{getattr(self.app.glyphs, look.glyph)} {look.word}", look.tone)

    def _state(self, room: int) -> Line:
        state = self._look()
        task = [Span(f"  {self.view.task_id}", Tone.MUTED)] if self.view.task_id else []
        spent = self.view.costs.session  # zero once the run is over
        cost = [Span(f"  {money(spent)}", Tone.MUTED)] if spent else []
        for spans in ([state, *task, *cost], [state, *task], [state]):
            if width_of(spans) <= room:
                return spans
        return []
