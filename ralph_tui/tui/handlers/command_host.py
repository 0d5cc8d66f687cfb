"""What handlers may use of the app, so that none of them imports it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from ralph_tui.domain.plan.plan import Task
from ralph_tui.tui.host.widget_host import Host, TaskPicker
from ralph_tui.tui.screens.dashboard import Dashboard, Selected


class LoopControl(Protocol):
    """Runs the loop of this screen."""

    when_finished: Callable[[], Awaitable[bool]] | None
    """Awaited once the loop here has ended; returns true when the app is leaving."""

    def start_loop(self, request: str = "", *, replans: bool = False) -> None:
        """Run the loop: for a new request, to replan with feedback, or to continue the plan."""

    def exit_when_finished(self) -> None:
        """Close the screen as soon as the loop has ended."""

    def flush(self) -> object:
        """Show the events so far."""


@dataclass(frozen=True, slots=True)
class CommandHost:
    """What commands act on.

    Attributes:
        app: The app, as every part of the screen may use it.
        loop: Starts and ends the loop.
    """

    app: Host
    dashboard: Dashboard
    loop: LoopControl

    @property
    def _picking(self) -> TaskPicker:
        screen = self.app.screen
        return screen if isinstance(screen, TaskPicker) else self.dashboard

    def selection(self) -> Selected:
        picking = self._picking
        return self.dashboard.selection() if picking is self.dashboard else picking.selected

    def choose(self, task: Task) -> None:
        self._picking.choose(task)
