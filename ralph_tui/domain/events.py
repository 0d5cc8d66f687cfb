"""Typed events, the only interface between the engine and the faces.

`seq` increases by one within a project's journal. A new event is one class here, and its sentence in `present`.
"""

import re
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import ConfigDict, Field, JsonValue, TypeAdapter
from pydantic.fields import FieldInfo

from ralph_tui.domain.base import Amount, Count, Record, Timestamp
from ralph_tui.domain.costs import CostLimits, CostMeter, Money
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome, LoopStatus, ToolOutcome
from ralph_tui.domain.permissions import Scope
from ralph_tui.domain.plan.plan import RetiredTask, Task
from ralph_tui.domain.project_state import Adjusted, ApprovalKind, Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.run.usage_quota import Allowance
from ralph_tui.domain.verification.check_commands import NO_CHECKS, ProjectChecks
from ralph_tui.domain.verification.review import Review
from ralph_tui.domain.verification.verification import Receipt


class Event(Record):
    """The fields of every event."""

    transient: ClassVar[bool] = False

    seq: Count = 0
    time: Timestamp | None = None
    type: str = ""  # the name of the class, such as `loop_started`

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.model_fields["type"] = FieldInfo(annotation=cast("type", Literal[kind]), default=kind)


class Transient(Event):
    """An event for open screens only, such as live text. It has `seq` 0 and is not journaled."""

    transient: ClassVar[bool] = True


class Lasting(Event):
    """An event that a view of the loop shows no matter how many others follow."""


class Inner(Event):
    """An event within an iteration. A log indents it below the iteration's heading."""


class Standing(Event):
    """The state of a project and the limits of its loop."""

    project: str
    phase: Phase
    max_iterations: Count = 0
    iteration: Count = 0
    """Iterations done in earlier runs."""
    context_capacity: Count = 0
    smart_zone: tuple[int, int] = (40, 60)
    wrap_up_percent: int = 75
    limits: CostLimits = Field(default_factory=CostLimits)
    costs: CostMeter = Field(default_factory=CostMeter)
    breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    model: str = ""
    checks: ProjectChecks = NO_CHECKS
    """How the project runs its tests, lint, type check and format check."""
    feature: str = Field(default="", exclude_if=lambda name: not name)
    """The feature that is worked on; empty for the plan without a name."""
    features: Count = Field(default=0, exclude_if=lambda count: not count)
    request: str = Field(default="", exclude_if=lambda text: not text)
    """What the person asked to build; empty for a plan that was written by hand or imported."""
    branch: str = Field(default="", exclude_if=lambda name: not name)


class LoopStarted(Lasting, Standing):
    """The loop started and took the project's lock."""

    run_id: str
    pid: int = 0


class LoopFinished(Lasting):
    """The run ended. This is its last event; `reason` says why it ended."""

    status: LoopStatus
    reason: str
    exit_code: int
    hint: str = ""
    iterations: Count = 0
    tasks_complete: Count = 0
    tasks_total: Count = 0
    tasks_unverified: Count = 0
    """Tasks that are complete although no check could run for them."""
    cost_usd: Money = 0.0
    seconds: Amount = 0.0
    files_changed: Count = 0
    """Files that differ from before the run's first iteration; 0 if unknown."""
    lines_added: Count = 0
    lines_removed: Count = 0
    start_command: str = ""
    """The command that starts the project, found in its files; empty if there is none."""


class PhaseChanged(Lasting):
    """The project moved to another phase."""

    phase: Phase
    reason: str = ""


class PlanLoaded(Lasting):
    """The whole plan was read: at the start, and whenever it was changed outside of the loop."""

    tasks: tuple[Task, ...]
    source: Literal["start", "disk"] = "start"
    title: str = ""
    retired: tuple[RetiredTask, ...] = ()


PLANNED = "planned"
"""The `reason` of a task that the planning model submitted."""


class TaskChanged(Lasting):
    """A task changed or was added."""

    task: Task
    reason: str = ""


class IterationStarted(Event):
    """Ralph chose a task and starts an attempt at it."""

    iteration: Count
    task_id: str
    title: str = ""
    why: str = ""
    attempt: Count = 1
    prompt_chars: Count = 0


class IterationFinished(Event):
    """An attempt ended."""

    iteration: Count
    task_id: str
    outcome: IterationOutcome
    reason: str = ""
    cost_usd: Money = 0.0
    tokens: Count = 0
    context_tokens: Count = 0
    seconds: Amount = 0.0
    handoff: bool = False
    files_changed: tuple[str, ...] = ()


class SessionStarted(Inner):
    """The CLI reported a new session."""

    session_id: str
    model: str = ""
    tools: tuple[str, ...] = ()
    cli_version: str = ""


class TextDelta(Transient):
    """The model wrote a piece of text. For open screens only."""

    text: str
    parent_id: str | None = None


class AssistantText(Event):
    """The model finished a block of text, which replaces the deltas before it."""

    text: str
    parent_id: str | None = None


class ToolStarted(Event):
    """The model called a tool. For a call by a sub-agent, `parent_id` is the tool call that started the sub-agent."""

    tool_id: str
    name: str
    input: dict[str, JsonValue] = Field(default_factory=dict)
    parent_id: str | None = None


class ToolRewritten(Event):
    """The guard changed a command before it ran."""

    tool_id: str
    before: str
    after: str
    rule: str = ""


class JudgedCall(Event):
    """A tool call that the guard or a person judged."""

    tool_id: str
    name: str
    rule: str
    part: str = ""
    reason: str = ""
    by: str = ""
    """Who decided about the call, if a person was asked."""


class ToolDenied(Lasting, JudgedCall):
    """The guard refused a call."""

    instead: str = ""


class ToolAllowed(JudgedCall):
    """A call that needed permission may run."""

    scope: Scope = "once"


class ToolFinished(Event):
    """A tool call ended. `output` is bounded and inert."""

    tool_id: str
    name: str = ""
    outcome: ToolOutcome
    seconds: Amount = 0.0
    output: str = ""
    patch: str = ""
    """The call's change to a file, as a unified diff with the file's line numbers; bounded and inert."""
    parent_id: str | None = None


class UsageReported(Event):
    """The context and cost after a model response. Sub-agents count toward the cost, not the context."""

    context_tokens: Count
    context_capacity: Count
    usage: TokenUsage = Field(default_factory=TokenUsage)
    costs: CostMeter = Field(default_factory=CostMeter)
    requests: Count = 0
    """Model requests in the last hour, if they are counted."""


class GateStarted(Inner):
    """The model claimed that a task is complete, and the gate runs its checks."""

    task_id: str
    notes: str = ""
    commands: tuple[str, ...] = ()


class GateChecked(Event):
    """One check of the gate ended."""

    task_id: str
    receipt: Receipt


class ReviewStarted(Inner):
    """A reviewer started to check criteria that no command covers."""

    task_id: str
    criteria: tuple[str, ...]
    model: str = ""


class ReviewFinished(Inner):
    """The reviewer gave its verdicts, or could not."""

    task_id: str
    review: Review


class GateFinished(Inner):
    """The gate accepted or rejected a claim."""

    task_id: str
    passed: bool
    unverified: bool = False
    """Whether no check failed, but none shows that the work is done either."""
    receipts: tuple[Receipt, ...] = ()
    unchecked: tuple[str, ...] = ()
    reviewed: bool = False
    """Whether a reviewer judges the remaining criteria next."""


class WorkCommitted(Event):
    """Ralph committed the work of complete tasks."""

    task_ids: tuple[str, ...]
    iteration: Count = 0
    commit: str
    branch: str = ""
    subject: str = ""
    files: Count = 0
    additions: Count = 0
    deletions: Count = 0


class RepositoryChanged(Event):
    """The repository changed during a run, but not what the agent builds on. The run continues."""

    summary: str = ""
    """What changed besides the commits."""
    commits: tuple[str, ...] = ()
    """Short hash and subject of each new commit on the checked out branch, newest first."""
    branch: str = ""
    """The branch of the commits; empty without commits or if HEAD is detached."""


class OfStep(Lasting, Inner):
    """A step around the work."""

    step: str
    kind: str
    """The step's type, such as `command`."""
    what: str = ""
    """The step's command or prompt file."""
    iteration: Count = 0
    task_id: str = ""
    attempt: Count = 1


class StepStarted(OfStep):
    """A step started."""


class StepFinished(OfStep):
    """A step ended or was skipped."""

    outcome: StepOutcome
    reason: str = ""
    again_in: Amount | None = None
    """Seconds until the next attempt; None if there is none."""
    exit_code: int | None = None
    tail: str = ""
    sandboxed: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    seconds: Amount = 0.0


class WorkUndone(Event):
    """The person undid a task. The task is pending again."""

    task_id: str
    iterations: tuple[int, ...] = ()
    files: tuple[str, ...] = ()
    commit: str = ""
    feature: str = Field(default="", exclude_if=lambda name: not name)


class LearningRecorded(Inner):
    """A line was appended to progress.txt."""

    category: str
    text: str


class InjectionQueued(Lasting):
    """A person gave guidance for the next iteration."""

    id: str
    text: str


class InjectionConsumed(Lasting):
    """Guidance was added to an iteration's prompt."""

    ids: tuple[str, ...]
    iteration: Count


class QuestionAsked(Lasting):
    """The agent asked a question and waits for the answer."""

    question: AskedQuestion


class QuestionAnswered(Lasting, Inner):
    """A question was answered, declined or withdrawn."""

    question: AskedQuestion


class ApprovalRequested(Lasting):
    """The loop waits for a decision of the person."""

    kind: ApprovalKind
    summary: str = ""


class ApprovalGiven(Lasting):
    """A requested decision was made."""

    kind: ApprovalKind
    approved: bool
    reason: str = ""
    by: str = ""


class NobodyAnswered(Event):
    """Nobody answered or decided in the time that the settings allow, so the run ends."""

    about: str
    seconds: Amount


class SpecsChecked(Lasting, Inner):
    """Ralph read the specs and checked their form."""

    valid: tuple[str, ...] = ()
    problems: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class ValidationFinished(Lasting):
    """A validation report was accepted."""

    round: Count
    passed: bool
    failures: tuple[str, ...] = ()
    summary: str = ""


class LimitWait(Event):
    """The loop waits for a usage limit to reset, or until somebody retries or stops."""

    until: Timestamp
    message: str = ""


class LimitWaitEnded(Event):
    """The wait for a usage limit is over."""

    why: str = ""


class AllowanceReported(Inner):
    """The used share of a subscription's window changed by at least one percent."""

    allowance: Allowance


class HandoffStarted(Inner):
    """The context reached the hand-off threshold, and the session writes its notes."""

    reason: str
    percent: Amount


class HandoffFinished(Inner):
    """MEMORY.md was written for the next session."""

    path: str
    summarised: bool = True
    """False if the model gave no summary and ralph wrote what it knew."""


class BreakerChanged(Lasting):
    """The circuit breaker changed, after an iteration or a reset."""

    breaker: CircuitBreaker
    reason: str = ""


class LimitReached(Event):
    """A limit stopped an iteration or the loop."""

    kind: str
    value: Money
    limit: Money
    message: str


class ApiRetry(Inner):
    """The CLI waits before it retries a model request."""

    attempt: Count
    max_attempts: Count
    delay_seconds: Amount
    status: int | None = None
    error: str = ""


class AgentFailed(Inner):
    """A session ended because of an error."""

    failure: FailureClass
    message: str
    hint: str = ""
    resets_at: Timestamp | None = None


class PauseRequested(Event):
    """Somebody asked for a pause."""

    now: bool = False


class LoopPaused(Event):
    """The loop paused and waits until somebody resumes it."""


class LoopResumed(Event):
    """The loop continues, or the requested pause was withdrawn."""


class LimitsChanged(Lasting):
    """Somebody changed limits or models of this run. Only the changed fields are set."""

    adjusted: Adjusted


class FilesUnfinished(Lasting):
    """The list of incomplete project files changed. Ralph uses the last valid version of each."""

    names: tuple[str, ...] = ()
    """The incomplete files, for example while an editor writes them; empty when all are complete again."""


class StopRequested(Event):
    """Somebody asked the loop to stop."""

    now: bool = False


class Notice(Event):
    """Something a person should know, such as a damaged file that was set aside."""

    level: Literal["info", "warning", "error"] = "info"
    text: str


class LoopFound(Transient):
    """A screen attached to a loop in another process and has read its past events. For open screens only."""

    pid: Count
    host: str = ""
    since: Timestamp | None = None


class ProjectRead(Transient, Standing):
    """A screen read a project whose loop is not running. For open screens only."""

    unworkable: str = ""
    """Why the plan cannot be built as it is."""
    finished: bool = False
    """Whether everything that was requested is built and validated."""
    awaits: ApprovalKind | None = None
    """What the next run asks you to approve first."""
    last: LoopFinished | None = None


class ProjectUnreadable(Transient):
    """The project cannot be read at the moment, so earlier events may be out of date. For open screens only."""

    reason: str


class CatchingUp(Transient):
    """A screen reads the past events of a loop in another process, until `loop_found`. For open screens only."""

    pid: Count
    percent: Count = 0


class LoopLost(Transient):
    """The loop in another process ended, or its process is gone. For open screens only."""

    pid: Count


KINDS = tuple(
    kind
    for kind in tuple(globals().values())
    if isinstance(kind, type) and issubclass(kind, Event) and not kind.__subclasses__()
)
"""Every kind of event, in the order of this file."""

EVENT: TypeAdapter[Event] = TypeAdapter(
    cast("type[Event]", Annotated[reduce(or_, KINDS), Field(discriminator="type")]),
    config=ConfigDict(defer_build=True),
)
"""Parses and writes events as JSON. Built at first use, because the first frame needs no events."""

EventSink = Callable[[Event], None]
"""Receives an event immediately; must not block."""
