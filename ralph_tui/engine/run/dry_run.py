"""Predict what the next run does first: the real run, on a project that keeps every change in memory.

It ends at its first session, check or question. Writes nothing, takes no lock.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from pydantic import Field

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.verification.verification import TaskVerification
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.event_bus import EventBus
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.phase_order import PhaseOrder, checked_phase, chosen_phase, place_to_work
from ralph_tui.engine.run.runner import Runner, begin_run
from ralph_tui.engine.safety.command_sandbox import Confinement
from ralph_tui.engine.session.spec import model_of
from ralph_tui.engine.verification.coverage import criteria_to_review
from ralph_tui.guard.sandbox.os_sandbox import sandbox_problem
from ralph_tui.store.backup.completion_book import CompletionBook
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project


class NextTask(Model):
    """The first task of the run."""

    id: str
    title: str
    why: str
    attempt: int


class NextRun(Model):
    """What the next run would do first."""

    project: str
    feature: str = ""
    """Empty for the plan without a name."""
    branch: str = ""
    """The branch that ralph would work on; empty if it neither commits nor checks one out."""
    phase: Phase
    why: str
    first: str
    before: tuple[str, ...] = ()
    status: int = 0
    """The exit status of a run that would end immediately; 0 if it would work."""
    hint: str = ""
    task: NextTask | None = None
    checks: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    model: str = ""
    max_iterations: int
    iteration_timeout_seconds: float
    rate_limit_per_hour: int
    cost_limits: CostLimits
    spent_usd: float = 0.0
    prompt_chars: int | None = None
    """None if no session comes first, or if its prompt depends on checks that a dry run does not run."""
    prompt: str | None = Field(None, exclude=True)


class _ReachedError(Exception):
    """The run would now start a session or a check, ask the person or wait."""

    def __init__(self, event: ev.Event) -> None:
        self.event = event


class _Bus(EventBus):
    """Collects the events of a run up to the first thing that a dry run does not do."""

    def __init__(self, *, asks: bool) -> None:
        self.events: list[ev.Event] = []
        self._reached = False
        ends = (ev.IterationStarted, ev.GateStarted, ev.LimitWait)
        self._ends = (*ends, ev.ApprovalRequested) if asks else ends

    def subscribe(self, name: str, listener: ev.EventSink) -> None: ...

    def emit(self, event: ev.Event) -> None:
        if self._reached:
            return
        self._reached = isinstance(event, self._ends)
        if self._reached:
            raise _ReachedError(event)
        self.events.append(event)

    async def written(self) -> None: ...


class _UnwrittenBook(CompletionBook):
    def record(self, task_id: str, verification: TaskVerification) -> TaskVerification:
        del task_id
        return verification


class _UnwrittenProject(Project):
    """Reads a project once, and keeps its changes and the prompt in memory."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._docs = super().look()
        self.receipts = _UnwrittenBook(self.layout)
        self.prompt = ""

    def load(self) -> Documents:
        return self._docs

    look = load

    def transact_moving(self, change: Callable[[Documents], Documents], moves: object) -> Documents:
        del moves
        self._docs = change(self._docs)
        return self._docs

    def keep_prompt(self, system: str, message: str) -> None:
        del system
        self.prompt = message

    def undo_agent_edits(self) -> None: ...

    def write_active_memory(self, text: str) -> Path:
        del text
        return self.layout.active_memory

    def write_phase_memory(self, phase: Phase, text: str) -> Path:
        del phase, text
        return self.layout.memory_phases

    def archive_plan(self) -> None: ...


async def look_ahead(root: Path, services: RunServices, request: RunRequest) -> NextRun:
    project = await asyncio.to_thread(_UnwrittenProject, root)
    docs, settings = project.load(), services.settings
    phase = await asyncio.to_thread(checked_phase, project, docs, services, request)
    confined = settings.safety.sandbox != "off" and not await asyncio.to_thread(sandbox_problem)
    place, branch = await asyncio.to_thread(
        place_to_work, project, settings, request, sandboxed=confined
    )
    has_specs = any(spec.criteria for spec in project.read_specs())
    why = chosen_phase(docs, request, has_specs=has_specs)[1]
    owner = await asyncio.to_thread(LoopLock(project.layout).owner)
    bus, runs = _Bus(asks=request.interactive), list[RunContext]()
    runner = Runner(project, services, request, bus, "", Confinement(), place)

    async def context(phase: Phase) -> RunContext:
        run = await runner.context(phase)
        run.configured, run.keep_prompt = _sessions_only(settings), project.keep_prompt
        run.snapshots.used = False
        runs.append(run)
        return run

    runner.project_state.exports = None
    await begin_run(project, settings, request, "", phase)
    await runner.project_state.open()
    try:
        facts = _facts_of_end(await PhaseOrder(context, request).run(phase))
    except _ReachedError as reached:
        facts = await asyncio.to_thread(_facts, reached.event, runs[-1], project.prompt)
    for event in bus.events:
        if isinstance(event, ev.PhaseChanged):
            phase, why = event.phase, event.reason
    before = [text for event in bus.events if (text := _told(event))]
    if owner is not None:
        running = (
            f"A loop is already running (process {owner.pid}). Another run can start when it ends."
        )
        before.insert(0, running)
    building = settings.phases.building
    common: dict[str, object] = {
        "project": settings.project.name or project.root.name,
        "feature": docs.feature,
        "branch": branch,
        "phase": phase,
        "why": why,
        "before": tuple(before),
        "model": model_of(phase, settings),
        "max_iterations": 1 if request.once else building.max_iterations,
        "iteration_timeout_seconds": building.iteration_timeout_seconds,
        "rate_limit_per_hour": settings.limits.rate_limit_per_hour,
        "cost_limits": settings.safety.cost_limits,
        "spent_usd": docs.project_cost,
    }
    return NextRun.model_validate(common | facts)


def _sessions_only(settings: Settings) -> Settings:
    """Return the settings without what runs before a session: steps, and checks that run again."""
    building = settings.phases.building.model_copy(
        update={"baseline": False, "recheck_finished": False}
    )
    phases = settings.phases.model_copy(update={"building": building})
    git = settings.git.model_copy(update={"commit": "off"})
    return settings.model_copy(update={"steps": {}, "git": git, "phases": phases})


def _told(event: ev.Event) -> str:
    match event:
        case ev.ApprovalGiven(by="--yes"):
            return f"--yes approves {DECISIONS[event.kind]}."
        case ev.TaskChanged() if event.reason and event.task.status is not TaskStatus.IN_PROGRESS:
            return f"Task {event.task.id} is {event.task.status.value}: {event.reason}."
        case ev.Notice():
            return event.text
        case _:
            return ""


def _facts_of_end(end: End) -> dict[str, object]:
    words = "The run ends immediately"
    if end.exit_code is ExitCode.COMPLETE:
        words = "Nothing is left to do"
    first = f"{words}: {end.reason.rstrip('.')}."
    return {"first": first, "status": int(end.exit_code), "hint": end.hint}


def _facts(reached: ev.Event, run: RunContext, prompt: str) -> dict[str, object]:
    match reached:
        case ev.ApprovalRequested():
            what = f"The run asks for your approval of {DECISIONS[reached.kind]}."
            return {"first": f"{what} {reached.summary}"}
        case ev.LimitWait():
            return {
                "first": f"The run waits until {reached.until:%Y-%m-%d %H:%M} UTC. {reached.message}"
            }
        case ev.GateStarted():
            # The prompt contains the results of the checks, which a dry run does not run.
            judged = any(spec.criteria for spec in run.project.request_specs())
            then = (
                ", then a session checks the result against the specs"
                if judged
                else ". There are no specs to check"
            )
            return {"first": f"The project's checks run{then}.", "checks": reached.commands}
        case ev.IterationStarted():
            return _facts_of_session(reached, run, prompt)
        case _:
            raise TypeError(reached)


def _facts_of_session(
    started: ev.IterationStarted, run: RunContext, prompt: str
) -> dict[str, object]:
    facts: dict[str, object] = {"prompt": prompt, "prompt_chars": started.prompt_chars}
    task = run.docs.plan.task(started.task_id)
    if run.phase is not Phase.BUILDING or task is None:
        what = "the request into specs" if run.phase is Phase.DISCOVERY else "the specs into a plan"
        return {"first": f"A session turns {what}.", **facts}
    building, rules = run.settings.phases.building, run.gate.rules()
    return {
        "first": f"Iteration {started.iteration} works on task {task.id}.",
        "task": NextTask(id=task.id, title=started.title, why=started.why, attempt=started.attempt),
        "checks": tuple(check.command for check in run.gate.checks(task)),
        "reviewed": criteria_to_review(task, building, rules.checks),
        **({"model": task.model} if task.model else {}),
        **facts,
    }
