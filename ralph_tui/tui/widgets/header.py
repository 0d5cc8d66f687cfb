"""The two lines at the top: what state the loop is in, and what it does right now."""

from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer

from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.tui.render.header import Facts, header_lines
from ralph_tui.tui.render.states import BUSY
from ralph_tui.tui.widgets.toned import Toned

SPINNER_SECONDS = 0.25


class Header(Toned):
    """State, project, phase, iteration, elapsed; the current task and why it was chosen."""

    view: reactive[LoopView] = reactive(LoopView())
    elapsed: reactive[float] = reactive(0.0)
    frame: reactive[int] = reactive(0)
    slow: reactive[bool] = reactive(default=False)

    _spinner: Timer | None = None

    def on_mount(self) -> None:
        """The spinner stands still until the loop runs."""
        if self.app.animation_level != "none":
            self._spinner = self.set_interval(SPINNER_SECONDS, self._turn, pause=True)

    def watch_view(self, view: LoopView) -> None:
        """Turn the spinner only while something is under way."""
        if self._spinner is not None:
            if view.run_state in BUSY:
                self._spinner.resume()
            else:
                self._spinner.pause()

    def _turn(self) -> None:
        self.frame += 1

    def on_resize(self) -> None:
        """Which fields fit depends on the width."""
        self.refresh()

    def render(self) -> Content:
        """Two lines."""
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
