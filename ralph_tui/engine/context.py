"""Hold what every part of a run shares."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from ralph_tui.config.settings import Settings
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.commits.iteration_snapshots import IterationSnapshots
from ralph_tui.engine.commits.task_commits import TaskCommits
from ralph_tui.engine.control.run_settings import adjusted_settings
from ralph_tui.engine.core.ports import Agent, SessionSpec
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.verification.gate import Gate, Review
from ralph_tui.engine.verification.review.reviewer import Reviewer
from ralph_tui.store.project import Documents, Project

SpecFor = Callable[[float], SessionSpec]
"""Makes the session's spec for what may still be spent, in US dollars; infinite without a limit."""


async def _nothing_noted(_: ToolCall) -> None:
    """Ignore the call: nobody asks what it changes."""


@dataclass(frozen=True)
class RunContext:
    """What every part of one run shares.

    Attributes:
        project_state: The documents on disk.
        configured: The project's settings as the run began.
        agent: Makes sessions.
        gate: Checks claims.
        review: The guard.
        landed: The guard again, once a file is written.
        emit: Sends an event to the journal and the faces.
        clock: The wall clock, in UTC.
        unwritten: Waits for the journal; why it cannot be written, once it could not.
        reviewer: Has claims reviewed by a second session.
        commits: Commits what finished tasks have changed.
        snapshots: Keeps what an undo of an iteration needs.
        answerable: Whether somebody is there to answer while the loop waits.
        about_to_run: Notes an allowed call right before it runs, to know later what it changed.
    """

    project_state: ProjectState
    configured: Settings
    agent: Agent
    gate: Gate
    review: Review
    landed: Callable[[ToolCall], Verdict]
    emit: EventSink
    clock: Callable[[], datetime]
    unwritten: Callable[[], Awaitable[StoreError | None]]
    reviewer: Reviewer
    commits: TaskCommits
    snapshots: IterationSnapshots
    answerable: bool
    about_to_run: Callable[[ToolCall], Awaitable[None]] = _nothing_noted

    @property
    def docs(self) -> Documents:
        """The documents as last seen."""
        return self.project_state.docs

    @property
    def project(self) -> Project:
        """The project on disk."""
        return self.project_state.project

    @property
    def settings(self) -> Settings:
        """The settings with what a person changed since for this run."""
        return adjusted_settings(self.configured, self.docs.state.adjusted)


def session_meter(run: RunContext, spent: CostMeter) -> UsageMeter:
    """Return the meter of a fresh session, on top of what was `spent` before it."""
    context = run.settings.context
    capacity = 200_000 if context.capacity_tokens == "auto" else context.capacity_tokens
    budget = ContextBudget(
        total_capacity=capacity,
        budget_percent=context.budget_percent,
        handoff_threshold_percent=context.handoff_threshold_percent,
    )
    follows = context.capacity_tokens == "auto"
    return UsageMeter(spent, run.settings.safety.cost_limits, budget, follow_model=follows)
