"""Screens in tests stand still: no animation, no blinking, one moment, one project."""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest
from textual import _wait, constants
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from ralph_tui.domain.events import Event
from ralph_tui.tui.app import app as app_module
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.host.widget_host import Clock
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.dialogs.confirm import TaskMenu
from ralph_tui.tui.screens.dialogs.text_reader import TaskDetail
from tests.harness.waiting import PATIENCE
from tests.tui.feed import NOW, Script, clock
from tests.tui.waiting import ROOT

SIZE = (120, 40)

AT_ONCE = 20
"""Looks in a row at a condition that the app alone makes true."""

REST = 0.02
"""Seconds between later looks."""

IDLE_LOOK = 0.005
"""Seconds between Textual's looks at whether the app is idle, twice after each key; its own 20 ms are most of a test."""

IDLE_SHARE = 5
"""An app that works less than this part of the time is idle; Textual's 20 is below what a clock and a stream take."""

Opened = AbstractAsyncContextManager[Pilot[int]]
Open = Callable[..., Opened]


@pytest.fixture(scope="session")
def report_folder() -> str:
    """Where the snapshot plugin collects its report; the isolation hides the variable from it."""
    return os.environ.get("TEXTUAL_SNAPSHOT_TEMPDIR", "")


@pytest.fixture(autouse=True)
def still(report_folder: str, isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual reads its settings at import, so the environment alone comes too late."""
    if report_folder:
        monkeypatch.setenv("TEXTUAL_SNAPSHOT_TEMPDIR", report_folder)
    monkeypatch.setattr(constants, "TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", IDLE_LOOK)
    monkeypatch.setattr(_wait, "SLEEP_IDLE", IDLE_LOOK / IDLE_SHARE)
    monkeypatch.setattr(app_module, "HOLD_SECONDS", PATIENCE)  # a busy machine opens a screen later
    # On a busy machine a picture is taken later than the half second after which a cursor goes.
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _: None)
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda _: None)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    time.tzset()
    monkeypatch.setattr("locale.getpreferredencoding", lambda do_setlocale=True: "utf-8")


@pytest.fixture(autouse=True)
def seen_when_asked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Render only what a test looks at, unless it is about the drawing or marked `drawn`."""
    if "snap_compare" in request.fixturenames or request.node.get_closest_marker("drawn"):
        return
    render = Compositor.render_update

    def forget(
        self: Compositor, *, screen_stack: list[Screen[object]], full: bool = False, **how: bool
    ) -> object:
        if full:  # a picture to keep
            return render(self, full=True, screen_stack=screen_stack, **how)
        visible_screen_stack.set(screen_stack)
        self._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", forget)


_parse = Stylesheet._parse_rules
_PARSED: dict[tuple[object, ...], list[RuleSet]] = {}


def _parsed_once(self: Stylesheet, *what: object, **how: object) -> list[RuleSet]:
    key = (what, *how.items(), *self._variables.items())
    if key not in _PARSED:
        _PARSED[key] = _parse(self, *what, **how)  # type: ignore[arg-type]  # passed on
    return _PARSED[key]


@pytest.fixture(autouse=True)
def parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each app has the same style sheets; to parse them is a fifth of its start."""
    monkeypatch.setattr(Stylesheet, "_parse_rules", _parsed_once)


class Moment:
    """A clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def app_of(
    script: Script,
    *,
    autostart: bool = True,
    clock: Clock = clock,
    keys: Mapping[str, str] | None = None,
) -> RalphApp:
    """The app of a scripted launch at a fixed moment, with these keys of the person's."""
    launch = script.launch
    if keys:
        launch = replace(launch, screen=launch.screen.model_copy(update={"keys": dict(keys)}))
    return RalphApp(launch, autostart=autostart, clock=clock)


def ralph(pilot: Pilot[int]) -> RalphApp:
    assert isinstance(pilot.app, RalphApp)
    return pilot.app


async def asks(pilot: Pilot[int], moment: Moment) -> RalphApp:
    """Wait for a dialog that opens by itself, and until it takes keys."""
    app = ralph(pilot)
    await until(pilot, lambda: isinstance(app.screen, AutoDialog))
    await pilot.pause()
    moment.passes(2)
    return app


async def until(
    pilot: Pilot[int], condition: Callable[[], bool], seconds: float = PATIENCE
) -> None:
    app = ralph(pilot)
    deadline, looks = monotonic() + seconds, 0
    while not condition():
        assert monotonic() < deadline, f"it did not become true in time:\n{screen_text(app)}"
        app.lifecycle.flush()
        # What takes longer is another process, which needs the processor that looking takes.
        await pilot.pause(REST if looks > AT_ONCE else None)
        looks += 1


DIRECT_KEYS = {
    "resume": "r",
    "skip": "s",
    "retry": "t",
    "hold": "H",
    "model": "m",
    "split": "S",
    "replan": "P",
    "sooner": "+",
    "later": "-",
    "drop": "d",
    "screenshot": "f12",
}
"""Keys for commands that are in a menu, as a person can have them: most tests are about the commands, not the menus."""


@pytest.fixture
def open_app() -> Callable[..., Opened]:
    """Open the app on events, and wait until the screen shows all of them."""

    @asynccontextmanager
    async def opened(
        script: Script,
        *,
        size: tuple[int, int] = SIZE,
        autostart: bool = True,
        clock: Clock = clock,
    ) -> AsyncIterator[Pilot[int]]:
        app = app_of(script, autostart=autostart, clock=clock, keys=DIRECT_KEYS)
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: bool(script.runs if autostart else script.watches))
            await drained(pilot)
            yield pilot

    return opened


async def through_the_menu(pilot: Pilot[int]) -> None:
    app = ralph(pilot)
    await until(pilot, lambda: isinstance(app.screen, TaskMenu))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, TaskDetail))


async def drained(pilot: Pilot[int]) -> None:
    app = ralph(pilot)
    await until(pilot, lambda: not app.bridge._queue)
    await pilot.pause()
    app.lifecycle.flush()
    await pilot.pause()


async def click_on(pilot: Pilot[int], words: str, *, times: int = 1) -> None:
    """Click where `words` begin."""
    app = ralph(pilot)
    await until(pilot, lambda: words in screen_text(app))
    lines = enumerate(screen_text(app).splitlines())
    x, y = next((line.index(words), y) for y, line in lines if words in line)
    await pilot.click(offset=(x, y), times=times)


async def drag(pilot: Pilot[int], words: str) -> None:
    """Mark `words` with the mouse."""
    app = ralph(pilot)
    lines = enumerate(screen_text(app).splitlines())
    x, y = next((line.index(words), y) for y, line in lines if words in line)
    await pilot.mouse_down(offset=(x, y))
    for column in (x + len(words) // 2, x + len(words) - 1):
        await pilot.hover(offset=(column, y))
    await pilot.mouse_up(offset=(x + len(words) - 1, y))


def screen_text(app: RalphApp) -> str:
    """What is on the screen, as lines of text; blank lines while it is not laid out."""
    width, height = app.size
    visible_screen_stack.set(app._background_screens)
    lines = app.screen._compositor.render_strips()
    if not app.screen.size or len(lines) != height:
        return "\n" * max(1, height)  # opened or resized this instant
    return "\n".join(strip.text[:width].rstrip() for strip in lines)


def toasts(app: RalphApp) -> list[str]:
    return [notice.message for notice in app._notifications]


def script_of(events: Iterable[Event] = ()) -> Script:
    return Script(ROOT, events)
