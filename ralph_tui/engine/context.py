"""Define the context that all parts of a run share, and count the usage of its sessions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EventSink, IterationStarted
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import ContextBudget, TokenUsage
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.commits.task_commits import TaskCommits
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.control.run_settings import adjusted_settings
from ralph_tui.engine.control.undo import IterationSnapshots
from ralph_tui.engine.core.ports import Agent, SessionSpec, TurnUsage
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.verification.gate import Gate, Review
from ralph_tui.store.project import Documents, Project

if TYPE_CHECKING:
    from ralph_tui.engine.limits.run_limits import RunLimits


from ralph_tui.engine.core.outcome import End, stopped_end


class UsageMeter:
    """Counts the usage of one agent session, on top of earlier costs."""

    def __init__(
        self, spent: CostMeter, limits: CostLimits, budget: ContextBudget, *, follow_model: bool
    ) -> None:
        """Start from the costs in `spent`; with `follow_model`, the capacity becomes the model's own context window."""
        self._spent = spent.next_iteration()
        self._follow_model = follow_model
        self.limits = limits
        self.budget = budget.using(0)
        self.costs = self._spent
        self.tokens = 0
        self.output_tokens = 0
        self.requests = 0

    def count(self, usage: TurnUsage) -> ev.UsageReported:
        self.costs = self._spent.add(usage.session_cost_usd)
        self.tokens = usage.session_tokens
        self.output_tokens = usage.session_output_tokens
        self.requests = usage.session_requests
        changes: dict[str, int] = {"current_usage": usage.usage.context}
        if self._follow_model and usage.context_window:
            changes["total_capacity"] = usage.context_window
        self.budget = self.budget.model_copy(update=changes)
        return self._report(usage.usage)

    def add_cost(self, usd: float) -> ev.UsageReported:
        """Add the cost of another session, such as a reviewer's, and return the event to emit."""
        self._spent = self._spent.add(usd)
        self.costs = self.costs.add(usd)
        return self._report(TokenUsage())

    def _report(self, usage: TokenUsage) -> ev.UsageReported:
        return ev.UsageReported(
            context_tokens=self.budget.current_usage,
            context_capacity=self.budget.total_capacity,
            usage=usage,
            costs=self.costs,
        )


SpecFor = Callable[[float], SessionSpec]
"""Returns the spec of a session that may spend this many US dollars; infinite without a limit."""


@dataclass
class RunContext:
    """The services and state that all parts of one run share, in one of its phases.

    Attributes:
        configured: The project's settings when the run began.
        review_written: Judges the path of a file again, after the call has written it.
        journal_error: Waits for the journal; returns its error if writing has failed.
        keep_prompt: Keeps what a session gets, the system prompt and the message, so that a person can read it. Blocks.
        before_call: Records an allowed call before it runs, so that its effects can be found later.
    """

    project_state: ProjectState
    request: RunRequest
    configured: Settings
    phase: Phase
    spec_for: SpecFor
    agent: Agent
    gate: Gate
    review: Review
    review_written: Callable[[ToolCall], Verdict]
    emit: EventSink
    clock: Callable[[], datetime]
    journal_error: Callable[[], Awaitable[StoreError | None]]
    commits: TaskCommits
    snapshots: IterationSnapshots
    before_call: Callable[[ToolCall], Awaitable[None]]
    keep_prompt: Callable[[str, str], None]
    limits: "RunLimits" = field(init=False)

    @property
    def docs(self) -> Documents:
        return self.project_state.docs

    @property
    def project(self) -> Project:
        return self.project_state.project

    @property
    def settings(self) -> Settings:
        return adjusted_settings(self.configured, self.docs.state.adjusted)

    async def announce(self, started: IterationStarted, system: str, prompt: str) -> None:
        await asyncio.to_thread(self.keep_prompt, system, prompt)
        self.emit(started.model_copy(update={"prompt_chars": len(prompt)}))


def new_session(run: RunContext) -> tuple[UsageMeter, SessionSpec]:
    context, limits = run.settings.context, run.settings.safety.cost_limits
    follows = context.capacity_tokens == "auto"
    budget = ContextBudget(
        total_capacity=200_000 if context.capacity_tokens == "auto" else context.capacity_tokens,
        budget_percent=context.budget_percent,
        handoff_threshold_percent=context.handoff_threshold_percent,
    )
    meter = UsageMeter(run.limits.costs(), limits, budget, follow_model=follows)
    return meter, run.spec_for(meter.costs.remaining(limits))


_SCOPES = {
    CostLevel.ITERATION: "the iteration",
    CostLevel.SESSION: "this run",
    CostLevel.TOTAL: "the project",
}
_SETTINGS = {
    CostLevel.ITERATION: "per_iteration",
    CostLevel.SESSION: "per_session",
    CostLevel.TOTAL: "total",
}


@dataclass(frozen=True)
class CostLimitReached:
    """A cost limit that is used up.

    Attributes:
        level: The scope of the limit: the iteration, the run or the project.
        spent: The cost so far, in US dollars.
        limit: The limit, in US dollars.
    """

    level: CostLevel
    spent: float
    limit: float

    @property
    def ends_run(self) -> bool:
        """Whether no other iteration may begin, because the limit is the run's or the project's."""
        return self.level is not CostLevel.ITERATION

    @property
    def reason(self) -> str:
        return f"{_SCOPES[self.level]} has cost ${self.spent:.2f} of ${self.limit:.2f}"

    @property
    def event(self) -> ev.LimitReached:
        return ev.LimitReached(
            kind=f"cost_{self.level.value}",
            value=self.spent,
            limit=self.limit,
            message=f"{self.reason[:1].upper()}{self.reason[1:]}.",
        )

    @property
    def end(self) -> End:
        for_one = "--max-cost or " if self.level is CostLevel.SESSION else ""
        hint = f"Raise {for_one}safety.cost_limits.{_SETTINGS[self.level]}, then run again."
        return stopped_end(self.reason, hint)


def cost_limit_reached(costs: CostMeter, limits: CostLimits) -> CostLimitReached | None:
    level = costs.exceeded(limits)
    return None if level is None else CostLimitReached(level, costs.of(level), limits.of(level))
