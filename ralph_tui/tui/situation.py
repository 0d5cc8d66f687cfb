"""What decides whether a command can be used now."""

from dataclasses import dataclass

from ralph_tui.domain.plan import Task
from ralph_tui.domain.view import ENDED, LoopView, RunState


@dataclass(frozen=True, slots=True)
class Situation:
    """The view, who runs the loop, and what is selected."""

    view: LoopView
    running: bool
    """A loop is running, here or in the process we are attached to."""
    task: Task | None = None
    """The task a command about a task means: the board's when it has the focus."""
    takes_requests: bool = False
    """A request can be typed here."""

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
