"""Starts and stops the loop with the screen: deferred loading, running or watching, signals."""

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from textual.worker import Worker

from ralph_tui.engine.control.controls import ENDED_BY
from ralph_tui.present.text.diffs import code_lines
from ralph_tui.tui.app.refresh import IDLE_FLUSH_SECONDS, Refresher
from ralph_tui.tui.host.bridge import FLUSH_SECONDS
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.dashboard import Dashboard

if TYPE_CHECKING:
    from ralph_tui.tui.handlers.table import Handlers

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
