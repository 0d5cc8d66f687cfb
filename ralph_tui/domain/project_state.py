"""The master state, `.ralph/state.json`, and the records kept beside it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.run.rate_limit import RequestRate

STATE_SCHEMA_VERSION = 1
FEATURES_STATE_VERSION = 2
"""Of a project with named features: nothing else differs, but an older ralph would work on the wrong plan."""


class Phase(StrEnum):
    """The four phases, in order."""

    DISCOVERY = "discovery"
    PLANNING = "planning"
    BUILDING = "building"
    VALIDATION = "validation"


class StopMode(StrEnum):
    """How soon a pause or a stop takes effect."""

    NONE = "none"
    AFTER_ITERATION = "after_iteration"
    NOW = "now"

    def again(self) -> "StopMode":
        """Return the stronger request when it is made again: first after the iteration, then at once."""
        return StopMode.AFTER_ITERATION if self is StopMode.NONE else StopMode.NOW


class BreakerSummary(Record):
    """The breaker as `state.json` shows it; `circuit_breaker.json` has the whole."""

    state: BreakerState = BreakerState.CLOSED
    failure_count: Count = 0
    stagnation_count: Count = 0


class ApprovalKind(StrEnum):
    """What the person is asked to agree to."""

    SPECS = "specs"
    PLAN = "plan"
    VALIDATION = "validation"
    RECOVERY = "recovery"
    LIMIT = "limit"
    UNVERIFIED = "unverified"


REASONED = frozenset({ApprovalKind.SPECS, ApprovalKind.PLAN, ApprovalKind.VALIDATION})
"""Decisions whose rejection the model works on next, so that it needs a reason."""


DECISIONS: Mapping[ApprovalKind, str] = MappingProxyType(
    {
        ApprovalKind.SPECS: "the specs",
        ApprovalKind.PLAN: "the plan",
        ApprovalKind.VALIDATION: "the validation",
        ApprovalKind.RECOVERY: "one more try",
        ApprovalKind.LIMIT: "the wait for the limit",
        ApprovalKind.UNVERIFIED: "building without checks",
    }
)
"""What is agreed to: your approval of …, approved: …"""

DECIDERS: Mapping[str, str] = MappingProxyType(
    {
        "screen": "the person, on the screen",
        "terminal": "the person, at the terminal",
        "command": "the person, with a command",
        "demo": "the demo",
        "--yes": "--yes, unseen",
        "cool-down": "the clock: the cool-down is over",
        "timeout": "the clock: nobody answered",
    }
)
"""`decided_by` in words."""


class Approval(Record):
    """A decision only a person can make; `approved` is None while they are waited for."""

    kind: ApprovalKind
    summary: str = ""
    requested_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    """When the run ends without a decision; None where it waits as long as it takes."""
    approved: bool | None = None
    reason: str = ""
    """Why it was rejected: feedback for the model."""
    decided_by: str = ""
    content: Mapping[str, str] = Field(default_factory=dict)
    """What it is about: the name of each part, and the hash of what it said."""

    @property
    def whom(self) -> str:
        """Who decided, in words; the demo's person is not one."""
        return DECIDERS.get(self.decided_by, "the person")


class Adjusted(Record):
    """What a person changed for the running run; None is as configured."""

    max_iterations: Annotated[int, Field(ge=1)] | None = None
    per_iteration: Money | None = None
    per_session: Money | None = None
    total: Money | None = None
    """Limits in US dollars."""
    model: str | None = None
    planning_model: str | None = None

    @property
    def told(self) -> str:
        """What is different, in words."""
        words = {
            "max_iterations": "at most {} iterations",
            "per_iteration": "${:.2f} an iteration",
            "per_session": "${:.2f} this run",
            "total": "${:.2f} in total",
            "model": "model {}",
            "planning_model": "planning model {}",
        }
        given = {name: getattr(self, name) for name in words}
        return ", ".join(
            words[name].format(value) for name, value in given.items() if value is not None
        )


class Injection(Record):
    """One line of `.ralph/injections.json`: guidance from a person for the next iteration."""

    timestamp: Timestamp
    guidance: str
    injected_by: str = "user"
    id: str = ""
    now: bool = False
    """Steer the running turn instead of waiting for the next iteration."""


class Pause(Record):
    """What the loop itself waits for: a limit that resets, a service that recovers."""

    until: Timestamp
    why: str


class WorkBranch(Record):
    """The branch that ralph commits to."""

    name: str
    base: str = ""
    """The commit it stood at when ralph began; empty when there was none."""
    head: str = ""
    """The last commit of ralph's on it, or `base`."""
    commits: Count = 0
    """How many commits ralph has made on it."""


class RalphState(Record):
    """What must survive between runs; field names are the seeds'.

    `session_*` figures are of one run of the loop, the others of the project's whole life.
    `pause` and `stop` are requests any process may write; the loop reads them.
    """

    schema_version: int = STATE_SCHEMA_VERSION
    project_root: str = "."
    current_phase: Phase = Phase.BUILDING
    iteration_count: Count = 0
    session_id: str | None = None
    total_cost_usd: Money = 0.0
    total_tokens_used: Count = 0
    started_at: Timestamp | None = None
    last_activity_at: Timestamp | None = None
    session_cost_usd: Money = 0.0
    session_tokens_used: Count = 0
    tasks_completed_this_session: Count = 0
    paused: bool = False
    pause: StopMode = StopMode.NONE
    stop: StopMode = StopMode.NONE
    stop_why: str = ""
    """What asked for the stop when no person did."""
    unanswered: bool = False
    """Whether the stop was asked for because nobody answered a question."""
    request: str = ""
    """What the person asked for; the beginning of discovery."""
    requested_at: Timestamp | None = None
    """Questions from before belong to another request."""
    approval: Approval | None = None
    set_aside: Approval | None = None
    """A decision about specs, plan or result while `approval` asks about a limit or one more try."""
    validation_round: Count = 0
    requests: RequestRate = Field(default_factory=RequestRate)
    """Model requests of the last hour."""
    adjusted: Adjusted | None = None
    """Limits and models of this run that differ from the settings; gone when the next begins."""
    given: tuple[Injection, ...] = ()
    """Guidance that the running iteration was given; of one that dies it waits for the next."""
    waits: Pause | None = None
    """Why a running loop waits now; what a dead loop left here means nothing."""
    retry_now: bool = False
    """The person does not want to wait any longer for a limit."""
    circuit_breaker: BreakerSummary = Field(default_factory=BreakerSummary)
    branch: WorkBranch | None = None
    """Only where ralph commits, or has made a branch."""

    @property
    def decision(self) -> Approval | None:
        """The request or decision about specs, plan or result; one that outlives a run."""
        asked = self.approval
        return asked if asked is not None and asked.kind in REASONED else self.set_aside

    @property
    def awaits_decision(self) -> bool:
        """Whether a decision is still to be made, or to be acted on; an approved result is neither."""
        made = self.decision
        return made is not None and not (made.kind is ApprovalKind.VALIDATION and made.approved)


class SessionRecord(Record):
    """One line of `.ralph/session_history/sessions.jsonl`: an agent session that ended."""

    session_id: str
    iteration: Count
    tokens_used: Count = 0
    cost_usd: Money = 0.0
    tasks_completed: Count = 0
    phase: Phase = Phase.BUILDING
    handoff_reason: str = ""
    duration_ms: Count = 0
    task_id: str | None = None
    ended_at: Timestamp | None = None
    feature: str = Field(default="", exclude_if=lambda name: not name)
