"""One run of the loop: the lock, the journal, the parts put together, and everything put away again."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import CircuitBreaker
from ralph_tui.domain.budget import ContextBudget
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.state import Halt, Phase
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.journaling import Emitter
from ralph_tui.engine.launch import Launch
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.loop import BuildLoop, SpecFor, require_workable, session_budget
from ralph_tui.engine.ports import Agent, EventSink, SessionSpec
from ralph_tui.engine.processes import RUN_MARK, Watchdog, end_marked
from ralph_tui.engine.prompting import system_prompt
from ralph_tui.engine.ralph_tools import tool_specs
from ralph_tui.engine.verify import Gate, project_environment
from ralph_tui.engine.workshop import Workshop
from ralph_tui.guard.guard import Guard
from ralph_tui.guard.policy import PHASE_TOOLS, Policy
from ralph_tui.store.journal import JournalWriter
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project

CLAUDE_MD_LIMIT = 40_000
"""Characters of CLAUDE.md in the system prompt; it travels by argv, which is bounded."""


def _nothing() -> None:
    """The default preflight and warm-up."""


@dataclass(frozen=True)
class Wiring:
    """What a face brings to a run.

    Attributes:
        make_agent: Makes the agent; called in a thread, because it imports the SDK.
        settings: The project's settings.
        environment: Added to the environment of the agent's tools and of the gate.
        preflight: Checks the machine before anything is started; raises `RalphError`.
        warm_up: Imports what is slow.
        label: Shown beside the project's name.
    """

    make_agent: Callable[[], Agent]
    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)
    preflight: Callable[[], None] = _nothing
    warm_up: Callable[[], None] = _nothing
    label: str = ""


def make_launch(root: Path, wiring: Wiring) -> Launch:
    """A project ready to run or to watch."""

    async def run(sink: EventSink) -> LoopFinished:
        return await run_building(root, wiring, sink)

    async def watch(sink: EventSink) -> None:
        await watch_documents(root, sink)

    return Launch(
        root=root,
        controls=Controls(root),
        run=run,
        watch=watch,
        warm_up=wiring.warm_up,
        label=wiring.label,
    )


async def watch_documents(root: Path, sink: EventSink) -> None:
    """Tell the plan now and after every change on disk, until cancelled."""
    ledger = Ledger(Project(root), sink, requests=False)
    await ledger.open()
    await ledger.follow()


async def run_building(root: Path, wiring: Wiring, sink: EventSink) -> LoopFinished:
    """Run the building loop of a project to its end.

    Raises:
        RalphError: Something is wrong that was found before anything was started or spent.
    """
    project = Project(root)
    await asyncio.to_thread(_check_before_start, project, wiring)
    run_id = uuid.uuid4().hex
    lock = LoopLock(project.layout)
    await asyncio.to_thread(lock.acquire, run_id)
    try:
        journal = await asyncio.to_thread(JournalWriter, project.layout.events)
        emitter = Emitter(journal, sink)
        emitter.start()
        for text in journal.damage:
            emitter.emit(ev.Notice(level="warning", text=text))
        try:
            finished = await _run_locked(project, wiring, emitter, run_id)
            emitter.emit(finished)
        finally:
            await emitter.close()
    finally:
        await asyncio.shield(asyncio.to_thread(lock.release))
    return finished


def _check_before_start(project: Project, wiring: Wiring) -> None:
    require_workable(project.load().plan)
    wiring.preflight()
    project.create()  # a hand-made .ralph lacks the directories the loop writes to


async def _run_locked(
    project: Project, wiring: Wiring, emitter: Emitter, run_id: str
) -> LoopFinished:
    settings = wiring.settings
    ledger = Ledger(project, emitter.emit)
    docs, stale = await _begin_session(project, settings, run_id)
    emitter.emit(_started(project, settings, docs, run_id))
    await ledger.open()
    if stale:
        text = f"Put back to pending after a run that did not end: {', '.join(stale)}."
        emitter.emit(ev.Notice(level="warning", text=text))
    async with _parts(project, wiring, ledger, emitter, run_id) as (shop, spec_for):
        loop = BuildLoop(shop, spec_for, max_iterations=settings.phases.building.max_iterations)
        return await loop.run()


async def _begin_session(
    project: Project, settings: Settings, run_id: str
) -> tuple[Documents, tuple[str, ...]]:
    """A fresh session on disk: figures at zero, requests of an earlier run gone, no stale tasks."""
    stale: list[str] = []

    def change(docs: Documents) -> Documents:
        plan, found = docs.plan.reset_stale()
        stale[:] = found
        now = datetime.now(UTC)
        state = docs.state.model_copy(
            update={
                "project_root": str(project.root),
                "current_phase": Phase.BUILDING,
                "session_id": run_id[:12],
                "started_at": docs.state.started_at or now,
                "session_cost_usd": 0.0,
                "session_tokens_used": 0,
                "tasks_completed_this_session": 0,
                "paused": False,
                "pause": Halt.NONE,
                "stop": Halt.NONE,
            }
        )
        breaker = fresh_breaker(docs.breaker, settings)
        return docs.model_copy(update={"plan": plan, "state": state, "breaker": breaker})

    return await asyncio.to_thread(project.transact, change), tuple(stale)


def fresh_breaker(breaker: CircuitBreaker, settings: Settings) -> CircuitBreaker:
    """The breaker at the start of a run: starting again is the person's reset; limits are today's."""
    limits = settings.circuit_breaker
    return breaker.reset("a new run was started").model_copy(
        update={
            "max_consecutive_failures": limits.max_consecutive_failures,
            "max_stagnation_iterations": limits.max_stagnation_iterations,
            "max_cost_usd": settings.safety.cost_limits.total,
        }
    )


def _started(project: Project, settings: Settings, docs: Documents, run_id: str) -> ev.LoopStarted:
    import os

    budget = ContextBudget(budget_percent=settings.context.budget_percent)
    capacity = settings.context.capacity_tokens
    return ev.LoopStarted(
        run_id=run_id,
        project=settings.project.name or project.root.resolve().name,
        phase=docs.state.current_phase,
        pid=os.getpid(),
        max_iterations=settings.phases.building.max_iterations,
        iteration=docs.state.iteration_count,
        context_capacity=200_000 if capacity == "auto" else capacity,
        smart_zone=(budget.smart_zone_min_percent, budget.budget_percent),
        limits=settings.safety.cost_limits,
        costs=CostMeter(total=docs.state.total_cost_usd),
        breaker=docs.breaker,
        model=settings.models.primary,
    )


@contextlib.asynccontextmanager
async def _parts(
    project: Project, wiring: Wiring, ledger: Ledger, emitter: Emitter, run_id: str
) -> AsyncIterator[tuple[Workshop, SpecFor]]:
    """The agent, the guard, the gate and the watchers; all of them ended however the run ends."""
    settings = wiring.settings
    marks = {RUN_MARK: run_id}
    watchdog = Watchdog(run_id)
    watchdog.start()
    guard = Guard(
        Policy(
            root=project.root,
            phase=Phase.BUILDING,
            blocked_commands=settings.safety.blocked_commands,
        )
    )
    gate = Gate(
        project.root,
        backpressure=settings.phases.building.backpressure,
        timeout=settings.phases.building.gate_timeout_seconds,
        environment=project_environment(marks, wiring.environment),
        review=guard.review,
        emit=emitter.emit,
    )
    follower = asyncio.create_task(ledger.follow(), name="ralph-follow")
    warming = asyncio.create_task(guard.warm_up(), name="ralph-guard")
    agent = await asyncio.to_thread(wiring.make_agent)
    shop = Workshop(
        ledger=ledger,
        settings=settings,
        agent=agent,
        gate=gate,
        review=guard.review,
        emit=emitter.emit,
        clock=lambda: datetime.now(UTC),
    )
    try:
        yield shop, spec_maker(project, settings, {**wiring.environment, **marks})
    finally:
        for task in (follower, warming):
            task.cancel()
        await asyncio.wait([follower, warming])
        await asyncio.shield(_put_away(agent, guard, watchdog, run_id))


async def _put_away(agent: Agent, guard: Guard, watchdog: Watchdog, run_id: str) -> None:
    await agent.close()
    await guard.close()
    await asyncio.to_thread(end_marked, RUN_MARK, run_id)
    await watchdog.stop()


def spec_maker(project: Project, settings: Settings, environment: Mapping[str, str]) -> SpecFor:
    """Specs that are equal from one iteration to the next, so that standby sessions fit."""
    claude_md = ""
    if settings.agent.include_claude_md:
        claude_md = project.read_text(project.root / "CLAUDE.md", CLAUDE_MD_LIMIT)
    spec = SessionSpec(
        phase=Phase.BUILDING,
        cwd=project.root,
        system_prompt=system_prompt(claude_md),
        tools=PHASE_TOOLS[Phase.BUILDING],
        ralph_tools=tool_specs(),
        model=settings.models.primary,
        max_budget_usd=settings.safety.cost_limits.per_iteration,
        max_turns=settings.agent.max_turns,
        setting_sources=settings.agent.setting_sources,
        environment=dict(environment),
        max_api_retries=settings.agent.max_api_retries,
        api_timeout_seconds=int(settings.agent.api_timeout_seconds),
        idle_timeout_seconds=int(settings.agent.idle_timeout_seconds),
    )

    def spec_for(remaining_usd: float) -> SessionSpec:
        budget = min(spec.max_budget_usd or remaining_usd, remaining_usd)
        return spec.model_copy(update={"max_budget_usd": budget})

    return spec_for


__all__ = ["Wiring", "make_launch", "run_building", "session_budget", "watch_documents"]
