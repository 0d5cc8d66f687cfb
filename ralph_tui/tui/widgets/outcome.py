"""What came of the run: what happened, why, and what to do next."""

from textual.content import Content
from textual.reactive import reactive

from ralph_tui.domain.events import LoopFinished, LoopStatus
from ralph_tui.domain.view import RunState
from ralph_tui.tui.render.figures import clock, money, plural
from ralph_tui.tui.render.spans import Line, Span, Tone, wrap
from ralph_tui.tui.render.states import RUN, Look
from ralph_tui.tui.widgets.toned import Toned

_STATE = {
    LoopStatus.COMPLETE: RunState.COMPLETE,
    LoopStatus.ERROR: RunState.FAILED,
}


class Outcome(Toned):
    """A frame that appears when a run has ended and stays until the next begins."""

    finished: reactive[LoopFinished | None] = reactive(None, layout=True)

    def watch_finished(self, finished: LoopFinished | None) -> None:
        """Show or hide, in the colour of the outcome."""
        self.display = finished is not None
        if finished is None:
            return
        look = self._look(finished)
        self.border_title = Content(f"{getattr(self.app.glyphs, look.glyph)} {look.word}")
        for tone in (Tone.OK, Tone.WARN, Tone.BAD):
            self.set_class(look.tone is tone, f"-{tone}")

    def _look(self, finished: LoopFinished) -> Look:
        return RUN[_STATE.get(finished.status, RunState.STOPPED)]

    def on_resize(self) -> None:
        """Long reasons wrap."""
        self.refresh(layout=True)

    def render(self) -> Content:
        """Reason, figures, next step."""
        e = self.finished
        if e is None:
            return Content("")
        width = max(20, (self.content_size.width or self.app.size.width - 4))
        lines: list[Line] = [[Span(text, Tone.TITLE)] for text in wrap(e.reason, width)]
        lines += [[Span(text)] for text in wrap(self._next(e), width)]
        lines.append([Span(self._figures(e), Tone.MUTED)])
        return self.content(lines)

    def _figures(self, e: LoopFinished) -> str:
        parts = [
            f"{e.tasks_complete} of {plural(e.tasks_total, 'task')} complete",
            plural(e.iterations, "iteration"),
            money(e.cost_usd),
            clock(e.seconds),
            f"exit {e.exit_code}",
        ]
        return f" {self.app.glyphs.between} ".join(parts)

    def _next(self, e: LoopFinished) -> str:
        again = "" if e.status is LoopStatus.COMPLETE else "b starts again, "
        keys = f"{again}enter shows any entry below, q leaves"
        return f"{e.hint} ({keys})" if e.hint else f"Next: {keys}."
