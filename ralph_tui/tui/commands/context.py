"""Defines what decides whether a command can be used now."""

from dataclasses import dataclass
from datetime import datetime

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.view.loop_view import ENDED, LoopView, RunState
from ralph_tui.present.text.key_hints import Keys


def goes_on_at(view: LoopView) -> datetime | None:
    """Return when the loop continues automatically: a limit resets, or an open breaker has cooled down."""
    cooled = view.breaker.half_open_at if view.breaker.is_cooling else None
    return view.limit_until or cooled


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The view, who runs the loop, and what is selected."""

    view: LoopView
    keys: Keys
    """Names keys in reasons."""
    running: bool
    """A loop is running, here or in the process we are attached to."""
    task: Task | None = None
    """The task a command about a task means: the board's when it has the focus."""
    takes_requests: bool = False
    """A request can be typed here."""
    plans_anew: bool = False
    """The plan can be made again here."""
    imports: bool = False
    """A plan of another tool can be imported here."""
    request: str | None = None
    """The request that is not done yet; None while that is not known."""

    @property
    def state(self) -> RunState:
        """The loop's state."""
        return self.view.run_state

    @property
    def waiting(self) -> bool:
        """Something waits for the person's answer or decision."""
        return bool(self.view.questions) or self.view.approval is not None

    @property
    def ended(self) -> bool:
        """A run ended and none has begun since."""
        return self.state in ENDED
