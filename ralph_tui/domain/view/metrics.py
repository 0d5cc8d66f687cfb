"""Compute the seven success metrics of the seeds (section 13) from the journal's events.

Each metric has its definition and its denominator. A metric with nothing to count is unknown, not zero.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.feature_events import FeatureEvents

_PHASES = frozenset(phase.value for phase in Phase)
"""The task ids of iterations in phases without tasks, which are the names of the phases."""

BUILD = re.compile(
    r"\buv\s+(?:sync|build)\b|\b(?:npm|pnpm|yarn|bun)\s+(?:ci|(?:run\s+)?build|.*--(?:frozen|immutable))\b"
    r"|\b(?:cargo|go|poetry|zig|swift|dotnet)\s+build\b|\b(?:mvn|gradlew?)\s.*\b(?:package|build|verify)\b"
)
"""Commands that install what a lock file names, or build."""


class Metric(Model):
    """One figure with its definition. `value` is None while `denominator` is zero."""

    name: str
    title: str
    target: str
    """The goal, such as `> 90 %`."""
    definition: str
    unit: str = "time"
    """The unit of the denominator, in the singular."""
    numerator: float = 0.0
    denominator: float = 0.0
    unknown: str = ""
    """Why there is no value."""

    @property
    def value(self) -> float | None:
        return self.numerator / self.denominator if self.denominator else None


@dataclass
class Meter:
    """Counts the events of one feature, whose tasks may have the ids of another's. Not thread-safe."""

    events: FeatureEvents = field(default_factory=lambda: FeatureEvents(None))
    tasks: dict[str, Task] = field(default_factory=dict)
    attempted: set[str] = field(default_factory=set)
    iterations: set[int] = field(default_factory=set)
    helped: set[int] = field(default_factory=set)
    iteration: int = 0
    capacity: int = 0
    context: int = 0
    room: int = 0
    exits: int = 0
    premature: int = 0
    stagnations: int = 0
    recovered: int = 0
    stagnant: bool = False
    stuck: bool = False
    """Whether the stagnation counter is at its threshold now."""
    costs: dict[str, float] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    builds: int = 0
    good_builds: int = 0

    def complete(self, task_id: str) -> bool:
        task = self.tasks.get(task_id)
        return task is not None and task.status is TaskStatus.COMPLETE

    def feed(self, event: ev.Event) -> None:
        handler = _HANDLERS.get(type(event))
        if self.events.takes(event) and handler:
            handler(self, event)


def _capacity_told(t: Meter, e: ev.LoopStarted | ev.UsageReported) -> None:
    t.capacity = e.context_capacity or t.capacity


def _plan_loaded(t: Meter, e: ev.PlanLoaded) -> None:
    t.tasks.update({task.id: task for task in e.tasks})


def _task_changed(t: Meter, e: ev.TaskChanged) -> None:
    t.tasks[e.task.id] = e.task


def _iteration_started(t: Meter, e: ev.IterationStarted) -> None:
    t.iteration = e.iteration
    if e.task_id not in _PHASES:
        t.iterations.add(e.iteration)
        t.attempted.add(e.task_id)


def _iteration_finished(t: Meter, e: ev.IterationFinished) -> None:
    if e.context_tokens and t.capacity:
        t.context += e.context_tokens
        t.room += t.capacity
    phase, done = e.task_id in _PHASES, e.outcome is IterationOutcome.COMPLETE
    unfinished = e.outcome is IterationOutcome.INCOMPLETE
    t.premature += unfinished
    # A phase ends without a claim.
    t.exits += unfinished or (phase and (done or e.outcome is IterationOutcome.SENT_BACK))
    t.costs[e.task_id] = t.costs.get(e.task_id, 0.0) + e.cost_usd
    if done and not phase and t.stagnant:
        t.recovered += 1
        t.stagnant = False


def _gate_finished(t: Meter, e: ev.GateFinished) -> None:
    if e.task_id in _PHASES:  # ralph's own checks, not a claim of the model
        return
    t.exits += 1
    t.premature += not e.passed


def _breaker_changed(t: Meter, e: ev.BreakerChanged) -> None:
    threshold = e.breaker.max_stagnation_iterations
    stuck = 0 < threshold <= e.breaker.stagnation_count
    if stuck and not t.stuck:
        t.stagnations += 1
        t.stagnant = True
    t.stuck = stuck


def _question_asked(t: Meter, e: ev.QuestionAsked) -> None:
    if e.question.answer is None:  # not answered by a prepared file
        t.helped.add(t.iteration)


def _injection_consumed(t: Meter, e: ev.InjectionConsumed) -> None:
    t.helped.add(e.iteration)


def _gate_checked(t: Meter, e: ev.GateChecked) -> None:
    if BUILD.search(e.receipt.command) and e.receipt.exit_code is not None:
        t.builds += 1
        t.good_builds += e.receipt.exit_code == 0


def _tool_started(t: Meter, e: ev.ToolStarted) -> None:
    command = e.input.get("command")
    if isinstance(command, str) and BUILD.search(command):
        t.calls[e.tool_id] = command


def _tool_finished(t: Meter, e: ev.ToolFinished) -> None:
    ran = e.outcome in (ToolOutcome.OK, ToolOutcome.ERROR)
    if t.calls.pop(e.tool_id, None) is not None and ran:
        t.builds += 1
        t.good_builds += e.outcome is ToolOutcome.OK


_HANDLERS: dict[type[ev.Event], Callable[[Meter, Any], None]] = {
    ev.LoopStarted: _capacity_told,
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: _task_changed,
    ev.IterationStarted: _iteration_started,
    ev.IterationFinished: _iteration_finished,
    ev.UsageReported: _capacity_told,
    ev.GateFinished: _gate_finished,
    ev.BreakerChanged: _breaker_changed,
    ev.QuestionAsked: _question_asked,
    ev.InjectionConsumed: _injection_consumed,
    ev.GateChecked: _gate_checked,
    ev.ToolStarted: _tool_started,
    ev.ToolFinished: _tool_finished,
}

MEASURED = frozenset(str(kind.model_fields["type"].default) for kind in _HANDLERS)


def metrics_of(t: Meter) -> tuple[Metric, ...]:
    estimates = {
        task_id: task.estimated_tokens
        for task_id, task in t.tasks.items()
        if task.estimated_tokens and t.costs.get(task_id) and t.complete(task_id)
    }
    spent = sum(t.costs[task_id] for task_id in estimates)
    price = spent / (sum(estimates.values()) or 1)
    off = sum(abs(t.costs[task_id] - price * size) for task_id, size in estimates.items())
    return (
        Metric(
            name="task_completion_rate",
            title="Completed tasks",
            target="> 90 %",
            definition="Share of attempted tasks that are complete.",
            unit="task",
            numerator=sum(t.complete(task_id) for task_id in t.attempted),
            denominator=len(t.attempted),
            unknown="no task was attempted",
        ),
        Metric(
            name="context_efficiency",
            title="Context use",
            target="< 60 %",
            definition="How full the context window was when iterations ended, on average.",
            unit="token",
            numerator=t.context,
            denominator=t.room,
            unknown="no iteration reported its context",
        ),
        Metric(
            name="false_exit_rate",
            title="Rejected claims",
            target="< 5 %",
            definition='Share of "done" claims that failed verification. '
            "A turn that left its task or phase unfinished counts as failed.",
            unit="claim",
            numerator=t.premature,
            denominator=t.exits,
            unknown="the agent has not claimed anything yet",
        ),
        Metric(
            name="stagnation_recovery",
            title="Recovery from stagnation",
            target="> 80 %",
            definition="How often a task was completed after the loop had stopped making progress.",
            numerator=t.recovered,
            denominator=t.stagnations,
            unknown="the loop has never stagnated",
        ),
        Metric(
            name="cost_predictability",
            title="Cost beside the estimate",
            target="< 20 %",
            definition="How far the costs of completed tasks were from the plan's estimates, at what a token cost on average.",
            unit="cent",
            numerator=100 * off,
            denominator=100 * spent * (len(estimates) > 1),  # one cost shows no spread
            unknown="fewer than two completed tasks had an estimate",
        ),
        Metric(
            name="user_intervention_rate",
            title="Help from you",
            target="< 10 %",
            definition="Share of the iterations on tasks that asked you or got guidance.",
            unit="iteration",
            numerator=len(t.helped & t.iterations),
            denominator=len(t.iterations),
            unknown="no iteration has begun",
        ),
        Metric(
            name="build_reproducibility",
            title="Successful builds",
            target="100 %",
            definition="Share of commands that build, or install from a lock file, and succeeded.",
            unit="build",
            numerator=t.good_builds,
            denominator=t.builds,
            unknown="no build command ran",
        ),
    )
