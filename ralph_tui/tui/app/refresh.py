"""How the loop gets onto the screen: folded at every beat, drawn so that keys need not wait, with clock and title."""

import asyncio
import os
from functools import partial
from time import monotonic

import textual.screen
from textual import events
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.timer import Timer
from textual.widgets import Input

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
from ralph_tui.engine.launch import Launch
from ralph_tui.present.sections.header import project_name, title_of
from ralph_tui.tui.commands.context import goes_on_at
from ralph_tui.tui.handlers.command_host import Owner
from ralph_tui.tui.host.bridge import FLUSH_SECONDS
from ralph_tui.tui.host.widget_host import Clock, utc_now
from ralph_tui.tui.terminal.driver import OneReader
from ralph_tui.tui.terminal.frame_pacing import ANSWER_SECONDS, Pace
from ralph_tui.tui.terminal.garbage_collection import sweep
from ralph_tui.tui.terminal.paste import LONGEST_LINE, line_of

IDLE_FLUSH_SECONDS = 2.0
"""While only files are watched: what they have to tell calls for a beat of its own."""

FRAMES = 240
"""A second, at most. With Textual's 60 a key waits for up to 17 ms after each drawing of the stream, which was half of
what it took. How often there is something to draw is for the beat, the keys and the animations to say."""

FRAME_SECONDS = 1.5 / FRAMES
"""A little more than Textual waits before it draws."""

KEEP_TITLE, OLD_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""Have the terminal remember its title, and show that again."""

if "TEXTUAL_FPS" not in os.environ:
    # Set there it would come too late for Textual, and the agent's processes would inherit it.
    vars(textual.screen)["UPDATE_PERIOD"] = 1 / FRAMES

_KEYS = (events.Key, events.MouseDown, events.MouseScrollDown, events.MouseScrollUp)

_TURNS = (LoopFound, LoopLost, ProjectRead, ProjectUnreadable)
"""After these it is known whether there is much to show."""


class Showing(Owner):
    """Drains the bridge into the dashboard."""

    def __init__(self, launch: Launch, clock: Clock = utc_now) -> None:
        """Nothing is shown yet."""
        super().__init__(launch, clock)
        self.met = asyncio.Event()
        """Something of the project is shown."""
        self._flusher: Timer | None = None
        self._pace = Pace()
        self._clock_timer: Timer | None = None
        self._terminal_title = ""
        self.bridge.on_first = self._call_beat
        self.is_titled = False
        """The terminal shows our title instead of its own."""

    def get_driver_class(self) -> type[Driver]:
        """What reads and draws: Textual's choice, with one reader."""
        chosen = super().get_driver_class()
        return OneReader if chosen is LinuxDriver else chosen

    def on_mount(self) -> None:
        """The clock stands still until the loop runs."""
        self._clock_timer = self.set_interval(1.0, self._tick, pause=True)

    def shown(self) -> None:
        """Called when what happened is on the screen."""

    def nothing_runs(self) -> None:
        """Called when a plan was read and no loop works on it."""

    def flush_every(self, seconds: float) -> None:
        """How soon what came is shown."""
        if self._flusher is not None:
            self._flusher.stop()
        self._flusher = self.set_interval(seconds, self._beat)

    async def on_event(self, event: events.Event) -> None:
        """Keys come first, and who presses them is there; what is pasted into a line is one."""
        if isinstance(event, events.Paste) and isinstance(self.focused, Input):
            line = line_of(event.text)
            event.text = line[:LONGEST_LINE]
            if len(line) > LONGEST_LINE:
                self.say(f"Only the first {LONGEST_LINE:,} characters fit into this field.")
        if isinstance(event, _KEYS):
            self._pace.press(monotonic())
        await super().on_event(event)

    def _beat(self) -> None:
        """Fold what came; draw it, and look for garbage, when that keeps no key waiting."""
        began = monotonic()
        may_draw = self._pace.may_draw(began)
        if not may_draw and not self.bridge.live:
            self.set_timer(ANSWER_SECONDS, self._beat)  # the next one is far away
        if self.flush(draw=may_draw):
            # Textual draws soon after this; how late that makes us tells what drawing takes.
            took, due = monotonic() - began, monotonic() + FRAME_SECONDS
            self.set_timer(FRAME_SECONDS, partial(self._drawn, took, due))
        sweep(began - self._pace.pressed_at)

    def _call_beat(self) -> None:
        """What came from the files is shown soon, with what comes along with it."""
        if not self.bridge.live:
            self.set_timer(FLUSH_SECONDS, self._beat)

    def _drawn(self, took: float, due: float) -> None:
        now = monotonic()
        self._pace.draw(now, took + max(0.0, now - due))

    def flush(self, *, draw: bool = True) -> bool:
        """Take in what has happened since the last flush; whether the stream was drawn anew."""
        if not self.dashboard.is_whole:
            return False
        news = self.bridge.is_news
        batch = self.bridge.flush()
        if batch:
            self._show_batch(batch, news=news)
        drawn = draw and self.dashboard.draw()
        self.shown()
        return drawn

    def _show_batch(self, batch: list[Event], *, news: bool) -> None:
        self.call_after_refresh(self.met.set)
        self.view = self.bridge.view
        if news:
            self._call_at_end(batch)
        self.dashboard.absorb(batch)
        self.show_banner()
        if any(isinstance(event, _TURNS) for event in batch):
            self.flush_every(FLUSH_SECONDS if self.bridge.live else IDLE_FLUSH_SECONDS)
        if not self.bridge.live and any(
            isinstance(event, PlanLoaded | LoopLost) for event in batch
        ):
            self.call_after_refresh(self.nothing_runs)
        if any(isinstance(event, LoopStarted | LoopFinished | LoopLost) for event in batch):
            self._run_clock(on=self.view.run_state not in ENDED)
        self._show_terminal_title()

    def _run_clock(self, *, on: bool) -> None:
        self._tick()
        if self._clock_timer is not None:
            (self._clock_timer.resume if on else self._clock_timer.pause)()

    def _tick(self) -> None:
        if not self.dashboard.is_whole:
            return
        if goes_on_at(self.view):
            self.show_banner()
        self.dashboard.show_elapsed(self.bridge.stopwatch.elapsed(self.clock()))
        self.dashboard.stream.tick(self.clock())

    def _show_terminal_title(self) -> None:
        title = title_of(self.view, self.launch.root.name, self.glyphs)
        if title != self._terminal_title:
            self._terminal_title = title
            self.title = title
            if self._driver is not None:
                if not self.is_titled:
                    self.is_titled = True
                    self._driver.write(KEEP_TITLE)
                self._driver.write(f"\x1b]0;{title}\x07")

    def _call_at_end(self, batch: list[Event]) -> None:
        """Done, stopped and gone are worth a call; the past of a loop just attached to is not."""
        name = project_name(self.view, self.launch.root.name)
        for event in batch:
            if isinstance(event, LoopFinished):
                self.call_person(f"{name} {event.status.replace('_', ' ')}: {event.reason}")
            elif isinstance(event, LoopLost) and self.view.run_state is RunState.LOST:
                self.call_person(f"{name}: {self.view.detail}")
