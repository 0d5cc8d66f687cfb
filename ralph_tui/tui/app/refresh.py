"""Shows what the loop does: folds its events at every beat, draws without making keys wait, keeps clock and title."""

import asyncio
from collections.abc import Callable
from functools import partial
from time import monotonic

from textual import events
from textual.timer import Timer

from ralph_tui.domain.events import (
    Event,
    LoopFinished,
    LoopFound,
    LoopLost,
    LoopStarted,
    PlanLoaded,
    ProjectRead,
    ProjectUnreadable,
)
from ralph_tui.domain.view.loop_view import ENDED, RunState
from ralph_tui.present.sections.header_lines import project_name, title_of
from ralph_tui.tui.commands.context import goes_on_at
from ralph_tui.tui.host.bridge import FLUSH_SECONDS
from ralph_tui.tui.host.terminal_escapes import KEEP_TITLE, window_title
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.terminal.frame_pacing import ANSWER_SECONDS, FRAME_SECONDS, FramePacer
from ralph_tui.tui.terminal.garbage_collection import sweep
from ralph_tui.tui.terminal.private import write_escape

FIRST_SECONDS = 0.01
"""From the first event of a project to the screen: the rest of what is read comes in the same moment."""

IDLE_FLUSH_SECONDS = 2.0
"""Seconds between beats while only files are watched; a change on disk asks for a beat of its own."""

_KEYS = (events.Key, events.MouseDown, events.MouseScrollDown, events.MouseScrollUp)

_TURNS = (LoopFound, LoopLost, ProjectRead, ProjectUnreadable)
"""After these events it is known how often to flush."""


class Refresher:
    """Drains the bridge into the dashboard."""

    def __init__(
        self,
        app: Host,
        dashboard: Dashboard,
        *,
        shown: Callable[[], object],
        nothing_runs: Callable[[], object],
    ) -> None:
        """Show nothing yet.

        Args:
            app: Whose view is replaced.
            dashboard: What shows it.
            shown: Called when what happened is on the screen.
            nothing_runs: Called when a plan was read and no loop works on it.
        """
        self._app = app
        self._bridge = app.bridge
        self._dashboard = dashboard
        self._shown = shown
        self._nothing_runs = nothing_runs
        self.met = asyncio.Event()
        """Set once something of the project is shown."""
        self.is_titled = False
        """The terminal shows ralph's title instead of its own."""
        self._flusher: Timer | None = None
        self._pace = FramePacer()
        self._clock_timer: Timer | None = None
        self._bridge.on_first = self._call_beat

    def start(self) -> None:
        """Prepare the clock, which is paused until the loop runs."""
        self._clock_timer = self._app.set_interval(1.0, self.tick, pause=True)

    def flush_every(self, seconds: float) -> None:
        """Flush every so many seconds."""
        if self._flusher is not None:
            self._flusher.stop()
        self._flusher = self._app.set_interval(seconds, self._beat)

    def press(self, event: events.Event) -> None:
        """Note a key or a click, so that its effect is drawn first."""
        if isinstance(event, _KEYS):
            self._pace.press(monotonic())

    def _beat(self) -> None:
        """Fold what came, and draw and collect garbage when no key has to wait for that."""
        began = monotonic()
        may_draw = self._pace.may_draw(began)
        if not may_draw and not self._bridge.live:
            self._app.set_timer(ANSWER_SECONDS, self._beat)  # the next one is far away
        if self.flush(draw=may_draw):
            # Textual draws soon after this; how late that makes us tells what drawing takes.
            took, due = monotonic() - began, monotonic() + FRAME_SECONDS
            self._app.set_timer(FRAME_SECONDS, partial(self._drawn, took, due))
        sweep(began - self._pace.pressed_at)

    def _call_beat(self) -> None:
        """Ask for a beat soon, so that changes on disk are shown together; the first look at a project sooner."""
        if not self._bridge.live:
            known = self._app.view.is_known
            self._app.set_timer(FLUSH_SECONDS if known else FIRST_SECONDS, self._beat)

    def _drawn(self, took: float, due: float) -> None:
        now = monotonic()
        self._pace.draw(now, took + max(0.0, now - due))

    def flush(self, *, draw: bool = True) -> bool:
        """Take in what has happened since the last flush; return whether the stream was drawn."""
        if not self._dashboard.is_whole:
            return False
        news = self._bridge.is_news
        batch = self._bridge.flush()
        if batch:
            self._show_batch(batch, news=news)
        drawn = draw and self._dashboard.draw()
        self._shown()
        return drawn

    def _show_batch(self, batch: list[Event], *, news: bool) -> None:
        self._app.call_after_refresh(self.met.set)
        self._app.view = self._bridge.view
        if news:
            self._call_at_end(batch)
        self._dashboard.absorb(batch)
        self._dashboard.show_banner()
        if any(isinstance(event, _TURNS) for event in batch):
            self.flush_every(FLUSH_SECONDS if self._bridge.live else IDLE_FLUSH_SECONDS)
        if not self._bridge.live and any(
            isinstance(event, PlanLoaded | LoopLost) for event in batch
        ):
            self._app.call_after_refresh(self._nothing_runs)
        if any(isinstance(event, LoopStarted | LoopFinished | LoopLost) for event in batch):
            self._run_clock(on=self._app.view.run_state not in ENDED)
        self._show_title()

    def _run_clock(self, *, on: bool) -> None:
        self.tick()
        if self._clock_timer is not None:
            (self._clock_timer.resume if on else self._clock_timer.pause)()

    def tick(self) -> None:
        """Show what has changed with time alone."""
        if not self._dashboard.is_whole:
            return
        if goes_on_at(self._app.view):
            self._dashboard.show_banner()
        self._dashboard.show_elapsed(self._bridge.stopwatch.elapsed(self._app.clock()))
        self._dashboard.stream.tick(self._app.clock())

    def _show_title(self) -> None:
        app = self._app
        title = title_of(app.view, app.launch.root.name, app.glyphs)
        if title != app.title:
            app.title = title
            if not self.is_titled:
                self.is_titled = True
                write_escape(app, KEEP_TITLE)
            write_escape(app, window_title(title))

    def _call_at_end(self, batch: list[Event]) -> None:
        """Notify the person when the loop is done, stopped or lost; not for the past of a loop just attached to."""
        name = project_name(self._app.view, self._app.launch.root.name, self._app.glyphs)
        for event in batch:
            if isinstance(event, LoopFinished):
                self._app.call_person(f"{name} {event.status.replace('_', ' ')}: {event.reason}")
            elif isinstance(event, LoopLost) and self._app.view.run_state is RunState.LOST:
                self._app.call_person(f"{name}: {self._app.view.detail}")
