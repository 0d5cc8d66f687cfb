"""Starts and ends the loop with the screen: what is loaded when, running or watching, signals."""

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

MET_SECONDS = 1.0
"""The longest that loading the handlers waits for the first look at the project."""


class ScreenLifecycle:
    """Runs the loop, or watches the project while none runs here."""

    def __init__(self, app: Host, dashboard: Dashboard, *, autostart: bool) -> None:
        """Run nothing yet; `autostart` begins the loop after the first paint."""
        self._app = app
        self._bridge = app.bridge
        self._dashboard = dashboard
        self.refresher = Refresher(
            app, dashboard, shown=self._look_for_decisions, nothing_runs=self._nothing_runs
        )
        self.when_finished: Callable[[], Awaitable[bool]] | None = None
        """Awaited once the loop here has ended; returns true when the app is leaving."""
        self.when_begun: Callable[[], Awaitable[object]] | None = None
        """Awaited after the first paint, beside everything else."""
        self._handlers: Handlers | None = None
        self._autostart = autostart
        self._watcher: Worker[None] | None = None
        self.is_hung_up = False
        """Whether the terminal is gone."""

    @property
    def handlers(self) -> "Handlers":
        """The handlers of all commands; their dialogs are imported on first use."""
        if self._handlers is None:
            from ralph_tui.tui.handlers.command_host import CommandHost
            from ralph_tui.tui.handlers.table import Handlers

            self._handlers = Handlers(CommandHost(self._app, self._dashboard, self))
        return self._handlers

    def begin(self) -> None:
        """Start, after the first paint, what is slow, and the loop or the watcher."""
        self._obey_signals()
        if self.when_begun is not None:
            do(self._app, self.when_begun(), "begun")
        do(self._app, self._warm_up(), "warm-up")
        if self._autostart:
            self.start_loop()
        else:
            self._start_watching()

    async def _warm_up(self) -> None:
        """Load what was not needed to show the project, once it is shown.

        What was imported stays for good; a collection that walked through it all took 0.2 s.
        """
        gc.freeze()
        with suppress(TimeoutError):
            await asyncio.wait_for(self.refresher.met.wait(), MET_SECONDS)
        handlers = await self._loaded()
        await asyncio.to_thread(self._app.launch.warm_up)
        # The first diff would hold the screen for the tenth of a second in which Pygments finds its languages.
        await asyncio.to_thread(code_lines, "", "code.py")
        gc.freeze()
        if not self._autostart:
            await handlers.start.look_around()

    async def _loaded(self) -> "Handlers":
        await asyncio.to_thread(import_module, "ralph_tui.tui.handlers.table")
        return self.handlers

    def _look_for_decisions(self) -> None:
        """Open what waits for the person, once the handlers are loaded."""
        if self._handlers is not None:
            self._handlers.decisions.look()

    def _nothing_runs(self) -> None:
        """Offer to start a run."""
        do(self._app, self._offer(), "starting")

    async def _offer(self) -> None:
        """Offer to start a run, once the handlers are loaded."""
        handlers = await self._loaded()
        await handlers.start.look()

    def _obey_signals(self) -> None:
        """Stop the loop and leave on SIGTERM and SIGHUP; on a second signal, leave at once."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._end, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGHUP, self.hang_up)

    def _end(self, number: int) -> None:
        do(self._app, self.handlers.quit.leave_now(ENDED_BY[number]), "signal")

    def hang_up(self) -> None:
        """Leave because the terminal is gone. Kernel, shell and writer may all report it; only the first counts."""
        if not self.is_hung_up:
            self.is_hung_up = True
            self._end(signal.SIGHUP)

    def start_loop(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop: for a new request, to plan again with feedback, or on with the plan; the watcher stops.

        On a page of a browser it runs in a process of its own, because pages are closed without a word.
        """
        app = self._app
        if app.is_web and app.launch.go_on is not None:
            do(app, self.handlers.quit.run_elsewhere(request, replans=replans), "elsewhere")
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
            self._nothing_runs()
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
        """Show what has happened by now."""
        self.refresher.flush()

    def exit_when_finished(self) -> None:
        """Close the screen as soon as the loop has ended."""
        self.when_finished = self._exit_with_status
        if not self._bridge.running:
            self._app.exit(self._bridge.exit_code)

    async def _exit_with_status(self) -> bool:
        self._app.exit(self._bridge.exit_code)
        return True
