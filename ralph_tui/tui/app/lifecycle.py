"""From the first paint to the last: what is loaded when, the loop or the look at it, signals from outside."""

import asyncio
import gc
import signal
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from textual.worker import Worker

from ralph_tui.engine.controls import ENDED_BY
from ralph_tui.engine.launch import Launch
from ralph_tui.tui.app.key_queue import InOrder
from ralph_tui.tui.app.refresh import IDLE_FLUSH_SECONDS
from ralph_tui.tui.host.bridge import FLUSH_SECONDS
from ralph_tui.tui.host.widget_host import Clock, utc_now
from ralph_tui.tui.host.workers import do

if TYPE_CHECKING:
    from ralph_tui.tui.handlers.loop import Steering

MET_SECONDS = 1.0
"""Longest that what a key may need waits for the first look at the project; a long past takes longer."""


class Living(InOrder):
    """Runs the loop, or watches the project while none runs here."""

    def __init__(self, launch: Launch, *, autostart: bool, clock: Clock = utc_now) -> None:
        """Show `launch`; `autostart` begins the loop after the first paint."""
        super().__init__(launch, clock)
        self._steering: Steering | None = None
        self._autostart = autostart
        self._watcher: Worker[None] | None = None
        self._hung_up = False

    @property
    def steering(self) -> "Steering":
        """What each command does; its dialogs are loaded when it is first wanted."""
        if self._steering is None:
            from ralph_tui.tui.handlers.loop import Steering

            self._steering = Steering(self, self.bridge)
        return self._steering

    def on_ready(self) -> None:
        """After the first paint: what is slow, and the loop."""
        self._obey_signals()
        do(self, self._warm_up(), "warm-up")
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
            await asyncio.wait_for(self.met.wait(), MET_SECONDS)
        steering = await self._loaded()
        await asyncio.to_thread(self.launch.warm_up)
        gc.freeze()
        if not self._autostart:
            await steering.starting.look_around()

    async def _loaded(self) -> "Steering":
        await asyncio.to_thread(import_module, "ralph_tui.tui.handlers.loop")
        return self.steering

    def shown(self) -> None:
        """What waits for the person may have come."""
        if self._steering is not None:
            self._steering.deciding.look()

    def nothing_runs(self) -> None:
        """Say how to start."""
        do(self, self._offer(), "starting")

    async def _offer(self) -> None:
        """How to start."""
        steering = await self._loaded()
        await steering.starting.look()

    def _obey_signals(self) -> None:
        """Asked to end from outside: stop the loop, then leave; asked again, do not wait."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._end, signal.SIGTERM)
        loop.add_signal_handler(signal.SIGHUP, self.hang_up)

    def _end(self, number: int) -> None:
        do(self, self.steering.leaving.leave_now(ENDED_BY[number]), "signal")

    def on_one_reader_gone(self) -> None:
        """A terminal that is not the process's own closes without a signal."""
        self.hang_up()

    def hang_up(self) -> None:
        """The terminal is gone; kernel, shell and our own writing may all say so, and none means to hurry."""
        if not self._hung_up:
            self._hung_up = True
            self._end(signal.SIGHUP)

    def start_loop(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop: for a new request, to plan anew with what is said, or on; the watcher steps aside.

        On a page of a browser it runs in a process of its own, because pages are closed without a word.
        """
        if self.is_web and self.launch.go_on is not None:
            leaving = self.steering.leaving
            do(self, leaving.run_elsewhere(request, replans=replans), "elsewhere")
            return
        self.bridge.begin()
        self.view = self.bridge.view
        self.request = self.request if replans else request or self.request
        self.dashboard.show_banner(None, running=True)
        if self._watcher is not None:
            self._watcher.cancel()
        self.flush_every(FLUSH_SECONDS)
        do(self, self._run(request, replans=replans), "loop", exclusive=True)

    async def _run(self, request: str, *, replans: bool) -> None:
        await self.bridge.run(request, replans=replans)
        self.flush()
        then, self.when_finished = self.when_finished, None
        if then is None or not await then():
            self.nothing_runs()
            self._start_watching()

    def _start_watching(self) -> None:
        self.flush_every(IDLE_FLUSH_SECONDS if self.view.is_known else FLUSH_SECONDS)
        self._watcher = do(self, self.bridge.watch(), "watch")

    def exit_when_finished(self) -> None:
        """Leave as soon as the loop has ended."""
        self.when_finished = self._exit_with_status
        if not self.bridge.running:
            self.exit(self.bridge.exit_code)

    async def _exit_with_status(self) -> bool:
        self.exit(self.bridge.exit_code)
        return True
