"""The state of the loop as a person sees it, built from events by `reducer.reduce`.

The view is small and bounded. It does not contain the stream of tool calls; each face keeps as many
of those as it shows.
"""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, InstanceOf

from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.verification.check_commands import NO_CHECKS, ProjectChecks
from ralph_tui.domain.verification.verification import Receipt

KEPT_ITERATIONS = 200
KEPT_NOTICES = 50
KEPT_STEPS = 12


class RunState(StrEnum):
    """What the loop is doing."""

    IDLE = "idle"
    STARTING = "starting"
    """This screen started the loop, which has sent no event yet."""
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
"""States after a run. LOST means that the run's process is gone and sent no last event."""

RESTING = ENDED | {RunState.IDLE, RunState.STARTING}
"""States without an iteration in progress."""


class LoadState(StrEnum):
    """How much of the project has been read."""

    NOTHING = "nothing"
    PAST = "past"
    """The past events of a loop in another process are being read."""
    ALL = "all"


class LoopView(Model):
    """The loop at a glance."""

    sight: LoadState = LoadState.NOTHING
    caught_up: int = 0
    """Percent of the past events that were read, while `sight` is PAST."""
    trouble: str = ""
    """Why the project cannot be read now. The other fields were read before."""
    unfinished: tuple[str, ...] = ()
    """Files that are incomplete at the moment. Their last valid version is shown."""
    unworkable: str = ""
    """Why the plan cannot be built as it is, while no loop runs."""
    finished: bool = False
    """Whether everything that was requested is built and validated, and no loop runs."""
    awaits: ApprovalKind | None = None
    """What the next run asks you to approve first, while no loop runs."""
    last: ev.LoopFinished | None = None
    """The end of the last run, as it was read when the project was opened."""
    run_state: RunState = RunState.IDLE
    project: str = ""
    feature: str = ""
    """The feature that is shown; empty for the plan without a name."""
    features: int = 0
    """The number of plans in a project with features."""
    request: str = ""
    """What the person asked to build."""
    branch: str = ""
    """The branch that was checked out when the run began."""
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
    """The task of the last claim that was checked, possibly in an earlier iteration."""
    receipts: tuple[Receipt, ...] = ()
    gate_passed: bool | None = None
    step: ev.StepStarted | None = None
    """The step around the work that is running."""
    steps: tuple[ev.StepFinished, ...] = ()
    """The latest result of each step, in the order in which they ended."""
    injections: tuple[ev.InjectionQueued, ...] = ()
    """Guidance that no iteration has received yet."""
    questions: tuple[AskedQuestion, ...] = ()
    """Questions that wait for the person, oldest first."""
    approval: ev.ApprovalRequested | None = None
    """The decision that waits for the person."""
    settled_by: str = ""
    """Who answered or decided last; empty if a question was withdrawn."""
    limit_until: datetime | None = None
    """When the usage limit that the loop waits for resets."""
    iterations: tuple[ev.IterationFinished, ...] = ()
    notices: tuple[ev.Notice, ...] = ()
    denials: int = 0
    learnings: int = 0
    detail: str = ""
    """One line that explains the state, such as why the loop waits or stopped."""
    status: LoopStatus | None = None
    exit_code: int | None = None
    elsewhere: ev.LoopFound | None = None
    """The other process that runs the loop, while this screen follows it."""

    @property
    def is_known(self) -> bool:
        """Whether the project was read completely, so that the figures are its own."""
        return self.sight is LoadState.ALL

    @property
    def gate_is_past(self) -> bool:
        return self.gate_task_id is not None and self.gate_task_id != self.task_id

    @property
    def resumes_at(self) -> datetime | None:
        cooled = self.breaker.half_open_at if self.breaker.is_cooling else None
        return self.limit_until or cooled

    @property
    def current_task(self) -> Task | None:
        return self.tasks.get(self.task_id) if self.task_id else None
