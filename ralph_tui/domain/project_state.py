"""The project's state, `.ralph/state.json`, and the records that are part of it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.phase import Phase as Phase  # noqa: PLC0414 - a part of the state
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.run.rate_limit import RequestRate

STATE_SCHEMA_VERSION = 1
FEATURES_STATE_VERSION = 2
"""The version for projects with named features. Only the number differs; it keeps an older ralph off the wrong plan."""


class StopMode(StrEnum):
    """How soon a pause or a stop takes effect."""

    NONE = "none"
    AFTER_ITERATION = "after_iteration"
    NOW = "now"

    def again(self) -> "StopMode":
        return StopMode.AFTER_ITERATION if self is StopMode.NONE else StopMode.NOW


class BreakerSummary(Record):
    """A summary of the breaker for `state.json`; `circuit_breaker.json` has everything."""

    state: BreakerState = BreakerState.CLOSED
    failure_count: Count = 0
    stagnation_count: Count = 0


class ApprovalKind(StrEnum):
    """What the person is asked to approve."""

    SPECS = "specs"
    PLAN = "plan"
    VALIDATION = "validation"
    RECOVERY = "recovery"
    LIMIT = "limit"
    UNVERIFIED = "unverified"


REASONED = frozenset({ApprovalKind.SPECS, ApprovalKind.PLAN, ApprovalKind.VALIDATION})
"""Decisions that need a reason when rejected, because the model acts on the reason next."""


DECISIONS: Mapping[ApprovalKind, str] = {
    ApprovalKind.SPECS: "the specs",
    ApprovalKind.PLAN: "the plan",
    ApprovalKind.VALIDATION: "the result",
    ApprovalKind.RECOVERY: "one more iteration",
    ApprovalKind.LIMIT: "the wait for the limit",
    ApprovalKind.UNVERIFIED: "building without checks",
}
"""What is approved, as in "your approval of …"."""

DECIDERS: Mapping[str, str] = {
    "screen": "the person, on the screen",
    "terminal": "the person, at the terminal",
    "command": "the person, with a command",
    "demo": "the demo",
    "--yes": "--yes, without review",
    "cool-down": "the cool-down timer",
    "timeout": "the answer timeout",
}
"""The values of `decided_by` in words."""


class Approval(Record):
    """A decision that only a person can make; `approved` is None until then."""

    kind: ApprovalKind
    summary: str = ""
    requested_at: Timestamp | None = None
    expires_at: Timestamp | None = None
    """When the run gives up waiting for a decision; None if it waits forever."""
    approved: bool | None = None
    reason: str = ""
    """The reason of a rejection, as feedback for the model."""
    decided_by: str = ""
    content: Mapping[str, str] = Field(default_factory=dict)
    """What was shown for approval: each part's name with a hash of its content."""

    @property
    def whom(self) -> str:
        return DECIDERS.get(self.decided_by, "the person")


class Adjusted(Record):
    """Limits and models that a person changed for the current run; None means as configured."""

    max_iterations: Annotated[int, Field(ge=1)] | None = None
    per_iteration: Money | None = None
    per_session: Money | None = None
    total: Money | None = None
    """Limits in US dollars."""
    model: str | None = None
    planning_model: str | None = None

    @property
    def summary(self) -> str:
        """The changes in words."""
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
    """Why and until when the loop waits, for example for a limit to reset or a service to recover."""

    until: Timestamp
    why: str


class WorkBranch(Record):
    """The branch that ralph commits to."""

    name: str
    base: str = ""
    """The branch's commit when ralph began; empty if there was none."""
    head: str = ""
    """Ralph's last commit on the branch, or `base`."""
    commits: Count = 0
    """How many commits ralph has made on the branch."""


class RalphState(Record):
    """The state that must survive between runs. The field names come from the seeds.

    `session_*` figures cover one run of the loop; the others cover the project since its start.
    Any process may write the requests `pause` and `stop`; the loop reads them.
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
    """What requested the stop, if no person did."""
    unanswered: bool = False
    """Whether the stop was requested because nobody answered a question."""
    request: str = ""
    """What the person asked to build; discovery starts from it."""
    requested_at: Timestamp | None = None
    """When the request was made. Earlier questions belong to another request."""
    specs: tuple[str, ...] = ()
    """The names of the spec files that ralph wrote. Every other file in the folder is the person's."""
    chosen_specs: tuple[str, ...] = ()
    """The names of the person's own files that they chose to plan from."""
    specs_before: tuple[str, ...] | None = None
    """The person's files in the folder of the specs when discovery of `request` began; None once it is done."""
    approval: Approval | None = None
    set_aside: Approval | None = None
    """A decision about specs, plan or result that waits while `approval` asks about a limit or one more attempt."""
    validation_round: Count = 0
    requests: RequestRate = Field(default_factory=RequestRate)
    """Model requests of the last hour."""
    adjusted: Adjusted | None = None
    """Limits and models of this run that differ from the settings; dropped when the next run begins."""
    given: tuple[Injection, ...] = ()
    """Guidance given to the current iteration. If that iteration dies, the next one gets it."""
    waits: Pause | None = None
    """Why the running loop waits. Meaningless when no loop is running."""
    retry_now: bool = False
    """Whether the person asked to retry now instead of waiting for a limit."""
    circuit_breaker: BreakerSummary = Field(default_factory=BreakerSummary)
    branch: WorkBranch | None = None
    """Set only where ralph commits or has created a branch."""

    @property
    def decision(self) -> Approval | None:
        asked = self.approval
        return asked if asked is not None and asked.kind in REASONED else self.set_aside

    @property
    def awaits_decision(self) -> bool:
        """Whether a decision has yet to be made or acted on. An approved result needs no action."""
        decision = self.decision
        return decision is not None and not (
            decision.kind is ApprovalKind.VALIDATION and decision.approved
        )


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
