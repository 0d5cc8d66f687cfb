"""One run of the loop: the lock, the journal, the parts put together, and everything put away again."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import CircuitBreaker
from ralph_tui.domain.budget import ContextBudget
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.domain.secrets import hide, secret_values
from ralph_tui.domain.state import REASONED, Approval, Halt, Phase
from ralph_tui.engine.allowances import Allowances
from ralph_tui.engine.checkpoint import Checkpoint
from ralph_tui.engine.confinement import Confinement, confine, tidy
from ralph_tui.engine.controls import Controls
from ralph_tui.engine.custody import Custody
from ralph_tui.engine.ending import End, failed
from ralph_tui.engine.extras import (
    check_extras,
    extra_environment,
    extra_values,
    extras_of,
    prepared_servers,
    skill_directories,
    skill_names,
)
from ralph_tui.engine.following import follow_project
from ralph_tui.engine.journaling import Emitter
from ralph_tui.engine.launch import Launch
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.lifecycle import Lifecycle, first_phase
from ralph_tui.engine.mission import Mission
from ralph_tui.engine.phases.session import Stage
from ralph_tui.engine.ports import Agent, EventSink, SessionSpec
from ralph_tui.engine.processes import RUN_MARK, Watchdog, end_marked
from ralph_tui.engine.prompting import system_prompt
from ralph_tui.engine.ralph_tools import tool_specs
from ralph_tui.engine.strays import settle_strays
from ralph_tui.engine.subagents import SUB_AGENTS
from ralph_tui.engine.verify import Gate, gate_environment
from ralph_tui.engine.workshop import SpecFor, Workshop
from ralph_tui.guard.environment import agent_environment, cli_overlay
from ralph_tui.guard.gitwatch import GitWatch
from ralph_tui.guard.guard import Guard
from ralph_tui.guard.policy import Policy, phase_tools
from ralph_tui.guard.sandbox import Sandbox, gate_prefix
from ralph_tui.store.journal import JournalWriter
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project

CLAUDE_MD_LIMIT = 40_000
"""Characters of CLAUDE.md in the system prompt; it travels by argv, which is bounded."""


def _nothing() -> None:
    """The default preflight and warm-up."""


async def _nobody(_: EventSink) -> None:
    """The default beside the loop."""


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
        beside: Runs beside the loop until the loop ends; what it tells is told as the loop's own.
    """

    make_agent: Callable[[], Agent]
    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)
    preflight: Callable[[], None] = _nothing
    warm_up: Callable[[], None] = _nothing
    label: str = ""
    beside: Callable[[EventSink], Coroutine[None, None, None]] | None = None

    @property
    def everything(self) -> dict[str, str]:
        """The whole environment that a run starts from."""
        return {**os.environ, **self.environment}


def make_launch(root: Path, wiring: Wiring, mission: Mission | None = None) -> Launch:
    """A project ready to run or to watch; without a mission it works the plan."""
    chosen = mission or Mission(only=Phase.BUILDING)

    async def run(sink: EventSink) -> LoopFinished:
        return await run_mission(root, wiring, chosen, sink)

    async def run_request(request: str, sink: EventSink) -> LoopFinished:
        asked = replace(chosen, request=request, only=None)
        return await run_mission(root, wiring, asked, sink)

    async def watch(sink: EventSink) -> None:
        await follow_project(root, sink)

    return Launch(
        root=root,
        controls=Controls(root),
        run=run,
        watch=watch,
        warm_up=wiring.warm_up,
        label=wiring.label,
        screen=wiring.settings.screen,
        run_request=run_request,
    )


async def run_building(root: Path, wiring: Wiring, sink: EventSink) -> LoopFinished:
    """Work the plan of a project to its end.

    Raises:
        RalphError: Something is wrong that was found before anything was started or spent.
    """
    return await run_mission(root, wiring, Mission(only=Phase.BUILDING), sink)


async def run_mission(
    root: Path, wiring: Wiring, mission: Mission, sink: EventSink
) -> LoopFinished:
    """Run a mission to its end.

    Raises:
        RalphError: Something is wrong that was found before anything was started or spent.
    """
    hide(secret_values(os.environ))
    hide(extra_values(wiring.settings, wiring.everything))
    project = Project(root)
    phase = await asyncio.to_thread(_check_before_start, project, wiring, mission)
    held = await asyncio.to_thread(confine, root, wiring.settings.safety, wiring.everything)
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
            session = Session(project, wiring, mission, emitter, run_id, held)
            finished = await session.run(phase)
            emitter.emit(finished)
        finally:
            await emitter.close()
    finally:
        await asyncio.shield(asyncio.to_thread(lock.release))
    return finished


def _check_before_start(project: Project, wiring: Wiring, mission: Mission) -> Phase:
    phase = first_phase(project, project.load(), mission)
    ahead = tuple(Phase)[tuple(Phase).index(phase) :] if mission.only is None else (phase,)
    check_extras(wiring.settings, ahead, project.root, wiring.everything)
    wiring.preflight()
    GitWatch(project.root).snapshot()
    project.create()  # a hand-made .ralph lacks the directories the loop writes to
    return phase


class Session:
    """One run under the project's lock: its parts, its phases, its outcome."""

    def __init__(
        self,
        project: Project,
        wiring: Wiring,
        mission: Mission,
        emitter: Emitter,
        run_id: str,
        held: Confinement,
    ) -> None:
        """Run `mission` in `project`, telling `emitter`."""
        self._held = held
        self._project = project
        self._wiring = wiring
        self._settings = wiring.settings
        self._mission = mission
        self._emitter = emitter
        self._run_id = run_id
        self._marks = {RUN_MARK: run_id}
        self._ledger = Ledger(project, emitter.emit)
        percent = wiring.settings.limits.stop_at_allowance_percent
        self._allowances = Allowances(emitter.emit, stop_at_percent=percent)
        self._custody = Custody(project.root, self._allowances.emit)
        self._agent: Agent | None = None
        self._checkpoint: Checkpoint | None = None

    async def run(self, phase: Phase) -> LoopFinished:
        """Run from `phase`; problems after the start end in the event, not in an exception."""
        started = time.monotonic()
        docs, stale = await _begin_session(self._project, self._settings, self._run_id, phase)
        self._emitter.emit(_started(self._project, self._settings, docs, self._run_id))
        await self._ledger.open()
        if stale:
            text = f"Put back to pending after a run that did not end: {', '.join(stale)}."
            self._emitter.emit(ev.Notice(level="warning", text=text))
        if self._held.warning:
            self._emitter.emit(ev.Notice(level="warning", text=self._held.warning))
        await self._custody.begin()
        async with self._parts():
            await settle_strays(self._project.root, self._ledger, self._emitter.emit, self._mission)
            lifecycle = Lifecycle(self._stage, self._mission, has_specs=self._has_specs)
            try:
                end = await lifecycle.run(phase)
            except RalphError as error:
                end = failed(error)
        return self._finished(await self._after_all(end), time.monotonic() - started)

    async def _after_all(self, end: End) -> End:
        """The end, unless the last session did to the repository what ends a loop."""
        try:
            changed = await self._custody.check()
        except RalphError as error:
            changed = failed(error)
        return changed if changed is not None and end.exit_code is ExitCode.COMPLETE else end

    def _has_specs(self) -> bool:
        return any(spec.criteria for spec in self._project.read_specs())

    def _finished(self, end: End, seconds: float) -> LoopFinished:
        docs = self._ledger.docs
        return LoopFinished(
            status=end.status,
            reason=end.reason,
            hint=end.hint,
            exit_code=int(end.exit_code),
            iterations=self._checkpoint.done if self._checkpoint else 0,
            tasks_complete=docs.plan.counts()[TaskStatus.COMPLETE],
            tasks_total=len(docs.plan.tasks),
            cost_usd=docs.state.session_cost_usd,
            seconds=seconds,
        )

    @contextlib.asynccontextmanager
    async def _parts(self) -> AsyncIterator[None]:
        """The agent, the watcher and the watchdog; all of them ended however the run ends."""
        watchdog = Watchdog(self._run_id)
        watchdog.start()
        follower = asyncio.create_task(self._ledger.follow(), name="ralph-follow")
        beside = self._wiring.beside or _nobody
        companion = asyncio.create_task(beside(self._emitter.emit), name="ralph-beside")
        self._agent = agent = await asyncio.to_thread(self._wiring.make_agent)
        try:
            yield
        finally:
            follower.cancel()
            companion.cancel()
            await asyncio.wait([follower, companion])
            await asyncio.shield(self._put_away(agent, watchdog))
            if not companion.cancelled():
                companion.result()  # a bug in it must not end in silence

    async def _put_away(self, agent: Agent, watchdog: Watchdog) -> None:
        await agent.close()
        await asyncio.to_thread(end_marked, RUN_MARK, self._run_id)
        await asyncio.to_thread(tidy, self._project.root, self._held)
        await watchdog.stop()

    @contextlib.asynccontextmanager
    async def _stage(self, phase: Phase) -> AsyncIterator[Stage]:
        """A phase with its own guard, tools and prompt."""
        if self._agent is None:
            msg = "the parts were not made"
            raise RuntimeError(msg)
        policy = guard_policy(self._project, self._settings, phase)
        inherited = self._wiring.everything
        guard = Guard(policy)
        warming = asyncio.create_task(guard.warm_up(), name="ralph-guard")
        building = self._settings.phases.building
        gate = Gate(
            self._project.root,
            backpressure=building.backpressure,
            timeout=building.gate_timeout_seconds,
            environment=gate_environment(agent_environment(policy, inherited), self._marks),
            review=guard.review,
            emit=self._custody.emit,
            prefix=gate_prefix(self._held.sandbox),
        )
        shop = Workshop(
            ledger=self._ledger,
            configured=self._settings,
            agent=self._agent,
            gate=gate,
            review=guard.review,
            emit=self._custody.emit,
            clock=lambda: datetime.now(UTC),
            unwritten=self._emitter.written,
        )
        if self._checkpoint is None:
            self._checkpoint = Checkpoint(
                shop,
                self._mission,
                custody=self._custody,
                allowances=self._allowances,
            )
        overlay = cli_overlay(policy, inherited)
        extras = extra_environment(extras_of(self._settings, phase), inherited)
        environment = {**self._wiring.environment, **overlay, **self._marks, **extras}
        sandbox = self._held.sandbox
        spec_for = spec_maker(
            self._project, lambda: shop.settings, environment, phase, sandbox=sandbox
        )
        try:
            yield Stage(shop, self._checkpoint, spec_for, self._mission, phase)
        finally:
            warming.cancel()
            await asyncio.wait([warming])
            await asyncio.shield(guard.close())


def guard_policy(project: Project, settings: Settings, phase: Phase) -> Policy:
    """What the guard holds an agent of a phase to."""
    extras = extras_of(settings, phase)
    return Policy(
        root=project.root,
        phase=phase,
        blocked_commands=settings.safety.blocked_commands,
        git_allowed=settings.git.allowed_operations,
        mcp_servers=tuple(extras.mcp_servers),
        skills=skill_names(extras, project.root),
        home=Path.home(),
    )


async def _begin_session(
    project: Project, settings: Settings, run_id: str, phase: Phase
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
                "current_phase": phase,
                "session_id": run_id[:12],
                "started_at": docs.state.started_at or now,
                "session_cost_usd": 0.0,
                "session_tokens_used": 0,
                "tasks_completed_this_session": 0,
                "adjusted": None,
                "paused": False,
                "pause": Halt.NONE,
                "stop": Halt.NONE,
                "retry_now": False,
                "approval": lasting(docs.state.approval),
            }
        )
        breaker = fresh_breaker(docs.breaker, settings)
        return docs.model_copy(update={"plan": plan, "state": state, "breaker": breaker})

    return await asyncio.to_thread(project.transact, change), tuple(stale)


def lasting(approval: Approval | None) -> Approval | None:
    """A decision that outlives the run that asked for it; a limit and a breaker are the run's own."""
    return approval if approval is not None and approval.kind in REASONED else None


def fresh_breaker(breaker: CircuitBreaker, settings: Settings) -> CircuitBreaker:
    """The breaker at the start of a run: starting again is the person's reset; limits are today's."""
    limits = settings.circuit_breaker
    return breaker.reset("a new run was started").model_copy(
        update={
            "max_consecutive_failures": limits.max_consecutive_failures,
            "max_stagnation_iterations": limits.max_stagnation_iterations,
            "max_same_error": limits.max_same_error,
            "max_denied": limits.max_denied,
            "max_collapses": limits.max_collapses,
            "max_tests_only": limits.max_tests_only,
            "max_refused_claims": limits.max_refused_claims,
            "max_cost_usd": settings.safety.cost_limits.total,
        }
    )


def _started(project: Project, settings: Settings, docs: Documents, run_id: str) -> ev.LoopStarted:
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


def spec_maker(
    project: Project,
    settings_now: Callable[[], Settings],
    environment: Mapping[str, str],
    phase: Phase,
    *,
    sandbox: Sandbox | None,
) -> SpecFor:
    """Specs that are equal from one iteration to the next, so that standby sessions fit.

    Models and limits are asked for each time: a person may change them while the loop runs.
    """
    settings = settings_now()
    claude_md = ""
    if settings.agent.include_claude_md:
        claude_md = project.read_text(project.root / "CLAUDE.md", CLAUDE_MD_LIMIT)
    extras = extras_of(settings, phase)
    thinks = phase in (Phase.DISCOVERY, Phase.PLANNING)
    spec = SessionSpec(
        phase=phase,
        cwd=project.root,
        system_prompt=system_prompt(phase, claude_md, settings.git.allowed_operations),
        tools=phase_tools(phase, skills=bool(extras.skills)),
        ralph_tools=tool_specs(phase),
        sub_agents=SUB_AGENTS[phase],
        mcp_servers=prepared_servers(extras),
        skills=skill_directories(extras, project.root),
        max_turns=settings.agent.max_turns,
        setting_sources=settings.agent.setting_sources,
        environment=dict(environment),
        sandbox=sandbox if "Bash" in phase_tools(phase, skills=False) else None,
        max_api_retries=settings.agent.max_api_retries,
        api_timeout_seconds=int(settings.agent.api_timeout_seconds),
        idle_timeout_seconds=int(settings.agent.idle_timeout_seconds),
    )

    def spec_for(remaining_usd: float) -> SessionSpec:
        now = settings_now()
        budget = min(now.safety.cost_limits.per_iteration or remaining_usd, remaining_usd)
        model = now.models.planning if thinks else now.models.primary
        return spec.model_copy(update={"max_budget_usd": budget, "model": model})

    return spec_for
