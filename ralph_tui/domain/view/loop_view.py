"""The loop as a person sees it, folded from events by `reducer.reduce`.

The view is small and bounded. The stream of tool calls is not in it; each face keeps as much of that
as it shows.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, InstanceOf

from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.verification.check_commands import NO_CHECKS, ProjectChecks
from ralph_tui.domain.verification.verification import Receipt

KEPT_ITERATIONS = 200
KEPT_NOTICES = 50
KEPT_STEPS = 12


class RunState(StrEnum):
    """What the loop is doing, as one word."""

    IDLE = "idle"
    STARTING = "starting"
    """Asked for here; it has said nothing yet."""
    RUNNING = "running"
    VERIFYING = "verifying"
    WAITING = "waiting for you"
    LIMITED = "waiting for the limit"
    HANDING_OFF = "handing off"
    RETRYING = "retrying"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETE = "complete"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "disconnected"


ENDED = frozenset({RunState.COMPLETE, RunState.STOPPED, RunState.FAILED, RunState.LOST})
"""States after the last event of a run; LOST is a run of another process that had no last event."""

RESTING = ENDED | {RunState.IDLE, RunState.STARTING}
"""No iteration is under way."""


class Sight(StrEnum):
    """How much of the project has been told."""

    NOTHING = "nothing"
    PAST = "past"
    """What a loop of another process did so far is on its way."""
    ALL = "all"


class PendingInjection(Model):
    """Guidance that no iteration has got yet."""

    id: str
    text: str


class LoopView(Model):
    """The loop at a glance."""

    sight: Sight = Sight.NOTHING
    caught_up: int = 0
    """Percent of the past that was read, while it is on its way."""
    trouble: str = ""
    """Why the project cannot be read now; the rest was read before that."""
    unfinished: tuple[str, ...] = ()
    """Files that are not whole just now; their last content is shown."""
    unworkable: str = ""
    """Why the plan cannot be built as it is, while nobody builds it."""
    finished: bool = False
    """All that was asked for is built and validated, and nobody works on more."""
    run_state: RunState = RunState.IDLE
    project: str = ""
    feature: str = ""
    """The feature that is shown; empty for the plan without a name."""
    features: int = 0
    """How many plans the project has, where it has features."""
    request: str = ""
    """What the person asked for."""
    branch: str = ""
    """The branch that was checked out as the run began."""
    phase: Phase = Phase.BUILDING
    model: str = ""
    iteration: int = 0
    max_iterations: int = 0
    run_iterations: int = 0
    """Iterations started in this run."""
    task_id: str | None = None
    why: str = ""
    attempt: int = 0
    tasks: InstanceOf[Tasks] = Field(default_factory=Tasks)
    budget: ContextBudget = Field(default_factory=ContextBudget)
    smart_zone: tuple[int, int] = (40, 60)
    costs: CostMeter = Field(default_factory=CostMeter)
    limits: CostLimits = Field(default_factory=CostLimits)
    checks: ProjectChecks = NO_CHECKS
    """How the project runs its tests, lint, type check and format check."""
    breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    gate_task_id: str | None = None
    """The task of the last claim that was checked, which an earlier iteration may have made."""
    receipts: tuple[Receipt, ...] = ()
    gate_passed: bool | None = None
    step: ev.StepStarted | None = None
    """The step around the work that runs now."""
    steps: tuple[ev.StepFinished, ...] = ()
    """How the last steps ended, each once, in the order in which they ended."""
    injections: tuple[PendingInjection, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    """Questions that wait for the person, oldest first."""
    approval: ev.ApprovalRequested | None = None
    """The decision that waits for the person."""
    settled_by: str = ""
    """Who answered or decided last; empty where nobody did and it is not asked any more."""
    limit_until: datetime | None = None
    """When the usage limit resets that the loop waits for."""
    iterations: tuple[ev.IterationFinished, ...] = ()
    notices: tuple[ev.Notice, ...] = ()
    denials: int = 0
    learnings: int = 0
    handoffs: int = 0
    detail: str = ""
    """One line that says more than the state word: the retry, the wait, the reason it stopped."""
    status: ev.LoopStatus | None = None
    exit_code: int | None = None
    elsewhere: ev.LoopFound | None = None
    """The other process that runs the loop, while we follow it."""

    @property
    def is_known(self) -> bool:
        """Whether the figures are those of the project, and not only where they begin."""
        return self.sight is Sight.ALL

    @property
    def gate_is_past(self) -> bool:
        """Whether the last claim was about another task than the current one."""
        return self.gate_task_id is not None and self.gate_task_id != self.task_id

    @property
    def goes_on_at(self) -> datetime | None:
        """When the loop continues automatically: a limit resets, or an open breaker has cooled down."""
        cooled = self.breaker.half_open_at if self.breaker.is_cooling else None
        return self.limit_until or cooled

    @property
    def current_task(self) -> Task | None:
        """The task that is worked on, or None."""
        return self.tasks.get(self.task_id) if self.task_id else None
