"""The app as the commands see it: what they may ask of it, so that none of them imports it."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeVar

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.engine.launch import Launch
from ralph_tui.tui.host.bridge import Bridge
from ralph_tui.tui.host.widget_host import Clock, Host, Picking, utc_now
from ralph_tui.tui.screens.dashboard import Dashboard, Selected

TITLE = "ralph"
LIMIT = 200
"""Characters; desktops cut what is longer."""


def notification(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The escape that makes this terminal show a desktop notification."""
    body = one_line(inert(text), LIMIT).replace(";", ",")
    if environ.get("KITTY_WINDOW_ID") or environ.get("TERM") == "xterm-kitty":
        sent = f"\x1b]99;i={TITLE}:d=0;{TITLE}\x1b\\\x1b]99;i={TITLE}:p=body;{body}\x1b\\"
    elif environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("foot", "rxvt")):
        sent = f"\x1b]777;notify;{TITLE};{body}\x1b\\"
    else:
        sent = f"\x1b]9;{TITLE}: {body}\x1b\\"
    return _through_tmux(sent) if environ.get("TMUX") else sent


def _through_tmux(escape: str) -> str:
    """Past tmux to the terminal it is in, where its allow-passthrough lets it."""
    doubled = escape.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


TOAST = 160
"""Characters of a toast: two or three lines."""


T = TypeVar("T")


class Try(Protocol):
    """Does a request off the event loop; None when it failed and was said."""

    async def __call__(self, request: Callable[[], T]) -> T | None:
        """Try it."""
        ...


class Owner(Host):
    """Has the bridge to the loop and the dashboard."""

    def __init__(self, launch: Launch, clock: Clock = utc_now) -> None:
        """Nothing runs yet."""
        super().__init__(launch, clock)
        self.bridge = Bridge(launch, clock)
        self.dashboard = Dashboard()
        self.when_finished: Callable[[], Awaitable[bool]] | None = None
        """Done once the loop here has ended; true when the app is leaving."""
        self.last_word = ""
        """Said on the terminal after the screen has closed."""

    def start_loop(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop: for a new request, to plan anew with what is said, or on with what is there."""
        raise NotImplementedError

    def exit_when_finished(self) -> None:
        """Leave as soon as the loop has ended."""
        raise NotImplementedError

    def show_banner(self) -> None:
        """What is above the panes."""
        under_way = self.bridge.live and self.bridge.finished is None
        self.dashboard.show_banner(self.bridge.finished, running=under_way)

    def selection(self) -> Selected:
        """What Enter means."""
        plan = self.screen if isinstance(self.screen, Picking) else None
        return plan.selected if plan else self.dashboard.selection()

    def choose(self, task: Task) -> None:
        """Put the cursor on a task, where tasks are chosen from now."""
        if isinstance(self.screen, Picking):
            self.screen.choose(task)
        elif self.dashboard.board.has_focus and self.dashboard.board.row_of(task.id) is not None:
            self.dashboard.board.move_cursor(task.id)

    def flush(self, *, draw: bool = True) -> bool:
        """Take in what has happened since the last flush; whether the stream was drawn anew."""
        raise NotImplementedError

    async def keep_theme(self, name: str) -> None:
        """A theme was chosen, for the next time, too."""
        raise NotImplementedError

    # Saying.

    def complain(self, text: str) -> None:
        """Say what went wrong, and keep it where it can be read later."""
        raise NotImplementedError

    def call_person(self, text: str) -> None:
        """Ring, and where they look elsewhere (or always, or never) tell their desktop."""
        self.bell()
        when = self.launch.screen.notifications
        wanted = when == "always" or (when == "blur" and not self.app_focus)
        if wanted and self._driver is not None and not self.is_web:
            self._driver.write(notification(text))

    def say(self, text: str, *, error: bool = False) -> None:
        """A toast; never the only copy of anything that matters."""
        shown = one_line(inert(text), TOAST)
        if error:
            self.notify(shown, title="problem", severity="error", markup=False)
        else:
            self.notify(shown, markup=False)
