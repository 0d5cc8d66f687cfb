"""Starts and stops the loop with the screen: deferred loading, running or watching, signals."""

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING

from textual import events
from textual.timer import Timer
from textual.worker import Worker

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
from ralph_tui.engine.control.controls import ENDED_BY
from ralph_tui.present.sections.header_lines import project_name, title_of
from ralph_tui.present.text.diffs import code_lines
from ralph_tui.tui.host.bridge import FLUSH_SECONDS
from ralph_tui.tui.host.widget_host import KEEP_TITLE, Host, do, window_title
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.terminal.frame_pacing import ANSWER_SECONDS, FRAME_SECONDS, FramePacer
from ralph_tui.tui.terminal.garbage_collection import collect_when_idle
from ralph_tui.tui.terminal.private import write_escape

if TYPE_CHECKING:
    from ralph_tui.tui.handlers.table import Handlers


FIRST_SECONDS = 0.01
"""Seconds from a project's first event to the flush; the rest of the project is read within that time."""

IDLE_FLUSH_SECONDS = 2.0
"""Seconds between flushes while only files are watched; a change on disk schedules a flush of its own."""

_KEYS = (events.Key, events.MouseDown, events.MouseScrollDown, events.MouseScrollUp)

_TURNS = (LoopFound, LoopLost, ProjectRead, ProjectUnreadable)
"""Events after which the flush interval may change."""


class Refresher:
    """Moves events from the bridge to the dashboard."""

    def __init__(
        self,
        app: Host,
        dashboard: Dashboard,
        *,
        shown: Callable[[], object],
        on_idle: Callable[[], object],
    ) -> None:
        """Show nothing yet.

        Args:
            dashboard: The screen that shows the view.
            on_idle: Called when a plan was read and no loop works on it.
        """
        self._app = app
        self._bridge = app.bridge
        self._dashboard = dashboard
        self._after_flush = shown
        self._on_idle = on_idle
        self.first_shown = asyncio.Event()
        """Set once a part of the project is shown."""
        self.is_titled = False
        """Whether the terminal shows ralph's title instead of its own."""
        self._flusher: Timer | None = None
        self._pacer = FramePacer()
        self._clock_timer: Timer | None = None
        self._bridge.on_first = self._schedule_flush

    def start(self) -> None:
        self._clock_timer = self._app.set_interval(1.0, self.tick, pause=True)

    def flush_every(self, seconds: float) -> None:
        if self._flusher is not None:
            self._flusher.stop()
        self._flusher = self._app.set_interval(seconds, self._flush_when_due)

    def press(self, event: events.Event) -> None:
        """Record the time of a key or a click, so that its effect is drawn first."""
        if isinstance(event, _KEYS):
            self._pacer.press(monotonic())

    def _flush_when_due(self) -> None:
        began = monotonic()
        may_draw = self._pacer.may_draw(began)
        if not may_draw and not self._bridge.live:
            self._app.set_timer(
                ANSWER_SECONDS, self._flush_when_due
            )  # the next regular flush is up to two seconds away
        if self.flush(draw=may_draw):
            # Textual draws soon after this; how late the timer fires tells how long the drawing took.
            took, due = monotonic() - began, monotonic() + FRAME_SECONDS
            self._app.set_timer(FRAME_SECONDS, partial(self._drawn, took, due))
        collect_when_idle(began - self._pacer.pressed_at)

    def _schedule_flush(self) -> None:
        """Schedule a flush soon, so that changes on disk are shown together; sooner for the first one of a project."""
        if not self._bridge.live:
            known = self._app.view.is_known
            self._app.set_timer(FLUSH_SECONDS if known else FIRST_SECONDS, self._flush_when_due)

    def _drawn(self, took: float, due: float) -> None:
        now = monotonic()
        self._pacer.draw(now, took + max(0.0, now - due))

    def flush(self, *, draw: bool = True) -> bool:
        """Show the events since the last flush; return whether the stream was drawn."""
        if not self._dashboard.is_composed:
            return False
        notify = self._bridge.events_are_new
        batch = self._bridge.flush()
        if batch:
            self._show_batch(batch, notify=notify)
        drawn = draw and self._dashboard.draw()
        self._after_flush()
        return drawn

    def _show_batch(self, batch: list[Event], *, notify: bool) -> None:
        self._app.call_after_refresh(self.first_shown.set)
        self._app.view = self._bridge.view
        if notify:
            self._notify_at_end(batch)
        self._dashboard.absorb(batch)
        self._dashboard.show_banner()
        if any(isinstance(event, _TURNS) for event in batch):
            self.flush_every(FLUSH_SECONDS if self._bridge.live else IDLE_FLUSH_SECONDS)
        if not self._bridge.live and any(
            isinstance(event, PlanLoaded | LoopLost) for event in batch
        ):
            self._app.call_after_refresh(self._on_idle)
        if any(isinstance(event, LoopStarted | LoopFinished | LoopLost) for event in batch):
            self.tick()
            if (timer := self._clock_timer) is not None:
                (timer.pause if self._app.view.run_state in ENDED else timer.resume)()
        self._show_title()

    def tick(self) -> None:
        """Update what changes with time alone."""
        if not self._dashboard.is_composed:
            return
        if self._app.view.resumes_at:
            self._dashboard.show_banner()
        elapsed = self._bridge.stopwatch.elapsed(self._app.clock())
        self._dashboard.header.elapsed = elapsed
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

    def _notify_at_end(self, batch: list[Event]) -> None:
        name = project_name(self._app.view, self._app.launch.root.name, self._app.glyphs)
        for event in batch:
            if isinstance(event, LoopFinished):
                self._app.alert(f"{name} {event.status.replace('_', ' ')}: {event.reason}")
            elif isinstance(event, LoopLost) and self._app.view.run_state is RunState.LOST:
                self._app.alert(f"{name}: {self._app.view.detail}")


FIRST_LOOK_SECONDS = 1.0
"""Longest time that loading the handlers waits until the project is first shown."""


class ScreenLifecycle:
    """Runs the loop, or watches the project while none runs here."""

    def __init__(self, app: Host, dashboard: Dashboard, *, autostart: bool) -> None:
        self._app = app
        self._bridge = app.bridge
        self._dashboard = dashboard
        self.refresher = Refresher(
            app, dashboard, shown=self._look_for_decisions, on_idle=self._on_idle
        )
        self.when_finished: Callable[[], Awaitable[bool]] | None = None
        """Awaited once the loop here has ended; returns true when the app is leaving."""
        self.after_first_paint: Callable[[], Awaitable[object]] | None = None
        """Awaited after the first paint, concurrently with everything else."""
        self._handlers: Handlers | None = None
        self._autostart = autostart
        self._watcher: Worker[None] | None = None
        self.is_hung_up = False
        """Whether the terminal has closed."""

    @property
    def handlers(self) -> "Handlers":
        """The handlers of all commands; their dialogs are imported on first use."""
        if self._handlers is None:
            from ralph_tui.tui.handlers.command_host import CommandHost
            from ralph_tui.tui.handlers.table import Handlers

            self._handlers = Handlers(CommandHost(self._app, self._dashboard, self))
        return self._handlers

    def begin(self) -> None:
        """Start the slow imports and the loop or the watcher; called after the first paint."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._leave_on_signal, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGHUP, self.hang_up)
        if self.after_first_paint is not None:
            do(self._app, self.after_first_paint(), "first-paint")
        do(self._app, self._warm_up(), "warm-up")
        if self._autostart:
            self.start_loop()
        else:
            self._start_watching()

    async def _warm_up(self) -> None:
        """Load what the first frame did not need, once the project is shown.

        Imported modules are never freed, so they are frozen: a collection that walked through them took 0.2 s.
        """
        gc.freeze()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.refresher.first_shown.wait(), FIRST_LOOK_SECONDS)
        handlers = await self._load_handlers()
        await asyncio.to_thread(self._app.launch.warm_up)
        # Pygments needs 0.1 s to find its lexers; without this the first diff would block the screen for that long.
        await asyncio.to_thread(code_lines, "", "code.py")
        gc.freeze()
        if not self._autostart:
            await handlers.start.show_readiness()

    async def _load_handlers(self) -> "Handlers":
        await asyncio.to_thread(import_module, "ralph_tui.tui.handlers.table")
        return self.handlers

    def _look_for_decisions(self) -> None:
        if self._handlers is not None:
            self._handlers.decisions.check()

    def _on_idle(self) -> None:
        do(self._app, self._offer(), "starting")

    async def _offer(self) -> None:
        handlers = await self._load_handlers()
        await handlers.start.offer_request()

    def _leave_on_signal(self, number: int) -> None:
        do(self._app, self.handlers.quit.leave_now(ENDED_BY[number]), "signal")

    def hang_up(self) -> None:
        """Leave because the terminal has closed. The kernel, shell and writer may all report that; only the first counts."""
        if not self.is_hung_up:
            self.is_hung_up = True
            self._leave_on_signal(signal.SIGHUP)

    def start_loop(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop for a new request, to replan with feedback, or to continue the plan; the watcher stops.

        In a browser the loop runs in a process of its own, because a page may be closed at any time.
        """
        app = self._app
        if app.is_web and app.launch.continue_in_background is not None:
            do(app, self.handlers.quit.run_in_background(request, replans=replans), "elsewhere")
            return
        self._bridge.begin()
        app.view = self._bridge.view
        app.request = app.request if replans else request or app.request
        self._dashboard.show_banner()
        if self._watcher is not None:
            self._watcher.cancel()
        self.refresher.flush_every(FLUSH_SECONDS)
        do(app, self._run(request, replans=replans), "loop", exclusive=True)

    async def _run(self, request: str, *, replans: bool) -> None:
        await self._bridge.run(request, replans=replans)
        self.flush()
        then, self.when_finished = self.when_finished, None
        if then is None or not await then():
            self._on_idle()
            self._start_watching()

    def watch_again(self) -> None:
        """Watch the project again, unless the loop runs here."""
        if not self._bridge.running:
            if self._watcher is not None:
                self._watcher.cancel()
            self._start_watching()

    def _start_watching(self) -> None:
        self.refresher.flush_every(IDLE_FLUSH_SECONDS if self._app.view.is_known else FLUSH_SECONDS)
        self._watcher = do(self._app, self._bridge.watch(), "watch")

    def flush(self) -> None:
        self.refresher.flush()

    def exit_when_finished(self) -> None:
        self.when_finished = self._exit_with_status
        if not self._bridge.running:
            self._app.exit(self._bridge.exit_code)

    async def _exit_with_status(self) -> bool:
        self._app.exit(self._bridge.exit_code)
        return True
