"""The state that decides whether a command can be used now."""

from dataclasses import dataclass

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.view.loop_view import ENDED, LoopView, RunState
from ralph_tui.present.text.key_hints import Keys


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The view, who runs the loop, and what is selected."""

    view: LoopView
    keys: Keys
    """Provides the key names that reasons mention."""
    running: bool
    """Whether a loop runs, here or in the process the screen is attached to."""
    task: Task | None = None
    """The task that task commands act on: the board's if it has the focus, else the current one."""
    takes_requests: bool = False
    """Whether a request can be typed here."""
    can_replan: bool = False
    """Whether the plan can be replaced here."""
    imports: bool = False
    """Whether another tool's plan can be imported here."""
    request: str | None = None
    """The request that is not done yet; empty for none, None while unknown."""

    @property
    def state(self) -> RunState:
        return self.view.run_state

    @property
    def waiting(self) -> bool:
        return bool(self.view.questions) or self.view.approval is not None

    @property
    def ended(self) -> bool:
        return self.state in ENDED
