"""Run the loop: check the project, take the lock, assemble the parts, and clean up at the end."""

import asyncio
import contextlib
import os
import time
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.events import EventSink, LoopFinished
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.redaction import hide, secret_values
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.domain.verification.verification import ReceiptStatus
from ralph_tui.engine.commits.task_commits import HookSandbox, TaskCommits, WorkPlace
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.archiving import archive_finished
from ralph_tui.engine.control.plan_export import FollowedExports
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.control.run_settings import adjusted_settings
from ralph_tui.engine.control.undo import IterationSnapshots
from ralph_tui.engine.core.event_bus import EventBus
from ralph_tui.engine.core.outcome import End, failed_end
from ralph_tui.engine.core.ports import Agent, AgentSession, SessionSpec, Supervisor
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.core.run_files import RunFiles
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.decisions.ask_person import settle_orphans, withdraw_open_questions
from ralph_tui.engine.limits.run_limits import RunLimits
from ralph_tui.engine.run.notifications import NotificationTargets, Notifier
from ralph_tui.engine.run.observer import project_read, with_thresholds
from ralph_tui.engine.run.phase_order import PhaseOrder, checked_phase, place_to_work
from ralph_tui.engine.run.verify_task import make_gate
from ralph_tui.engine.safety.command_sandbox import (
    CommandSandbox,
    Confinement,
    confine,
    remove_mount_points,
)
from ralph_tui.engine.safety.phase_extensions import extra_environment, extra_values, extras_of
from ralph_tui.engine.safety.processes import (
    RUN_MARK,
    Watchdog,
    end_marked,
    find_orphans,
    marked_descendants,
)
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.engine.session.iteration_result import with_guidance_used
from ralph_tui.engine.session.spec import guard_policy, spec_maker, with_own_processes
from ralph_tui.engine.verification.baseline import Baseline
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.engine.verification.evidence.examined import starts_product
from ralph_tui.engine.verification.gate import Gate, gate_environment
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.guard import COMMAND_TOOLS, Guard, may_write, may_write_unnamed_files
from ralph_tui.guard.repository.watcher import RepositoryWatcher
from ralph_tui.guard.sandbox.environ_block import blank_keys
from ralph_tui.guard.sandbox.environment import SHIMS, agent_environment, cli_overlay
from ralph_tui.guard.sandbox.os_sandbox import NOT_HELD
from ralph_tui.store.backup.document_hold import DocumentHold
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.journal.journal_location import move_journal
from ralph_tui.store.last_prompt import write_last_prompt
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Outcome, Project

RESET = "--reset-circuit"
"""The reason recorded for a breaker that the person reset at the start of the run."""


async def begin_run(
    project: Project,
    settings: Settings,
    request: RunRequest,
    run_id: str,
    phase: Phase,
) -> tuple[Documents, tuple[str, ...]]:
    """Begin a run on disk: reset the figures, drop requests of an earlier run, and queue the tasks again that are returned."""

    def change(docs: Documents) -> Outcome[tuple[str, ...]]:
        docs = with_guidance_used(docs, heard=False)  # guidance of a run that was killed
        plan, stale = docs.plan.reset_stale()
        fresh = docs.with_state(
            project_root=str(project.root),
            session_id=run_id[:12],
            started_at=docs.state.started_at or datetime.now(UTC),
            current_phase=docs.state.current_phase if request.is_aside else phase,
            session_cost_usd=0.0,
            session_tokens_used=0,
            tasks_completed_this_session=0,
            adjusted=None,
            paused=False,
            pause=StopMode.NONE,
            stop=StopMode.NONE,
            stop_why="",
            unanswered=False,
            retry_now=False,
            waits=None,
            approval=docs.state.decision,
            set_aside=None,
        )
        breaker = fresh_breaker(docs.breaker, settings, request)
        steps = docs.steps.at_start(settings.steps_in_order)
        return Outcome(fresh.replacing(plan=plan, breaker=breaker, steps=steps), tuple(stale))

    return await asyncio.to_thread(project.transact_returning, change)


def fresh_breaker(
    breaker: CircuitBreaker, settings: Settings, request: RunRequest
) -> CircuitBreaker:
    """Return the breaker at the start of a run: reset by the new start, with the current thresholds.

    If a run was killed during a cooldown, the next run that waits for a person continues it, unless the person wants the
    breaker reset.
    """
    limits = settings.circuit_breaker
    waits = request.interactive and not request.reset_breaker
    cools = waits and breaker.is_cooling and limits.cooldown_minutes > 0
    tripped = breaker.state is not BreakerState.CLOSED
    why = (
        (RESET if request.reset_breaker else "a new run started")
        if tripped
        else breaker.reset_reason
    )
    begun = breaker if cools else breaker.reset(why)
    return with_thresholds(begun, settings)


def run_started(
    project: Project, settings: Settings, docs: Documents, run_id: str, request: str
) -> ev.LoopStarted:
    """Return the first event of a run; `request` is what discovery will write to the documents, or empty."""
    shared = {
        name: value
        for name, value in project_read(project, settings, docs)
        if name in ev.Standing.model_fields and name != "type"
    }
    if request:
        shared["request"] = request
    return ev.LoopStarted(run_id=run_id, pid=os.getpid(), **shared)


class _UnmadeAgent(Agent):
    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> AgentSession:
        raise RuntimeError(f"no agent was made for {spec.phase} with {supervisor}")

    def prepare(self, spec: SessionSpec) -> None: ...

    async def close(self) -> None: ...


class Runner:
    """Runs the phases of one run while the project's lock is held."""

    def __init__(
        self,
        project: Project,
        services: RunServices,
        request: RunRequest,
        bus: EventBus,
        run_id: str,
        confinement: Confinement,
        place: WorkPlace,
    ) -> None:
        self._confinement = confinement
        self._project = project
        self._services = services
        self._settings = services.settings
        self._request = request
        self._bus = bus
        self._run_id = run_id
        self._marks = {RUN_MARK: run_id}
        self.project_state = ProjectState(
            project,
            bus.emit,
            exports=FollowedExports(project, self._warn),
        )
        exceptions = services.settings.safety.sandbox_exceptions
        self._sandbox = CommandSandbox(project.root, confinement.sandbox, exceptions)
        self._tree = JudgeTree(project.root)
        self._commands = CommandJudge()
        self._repository_guard = RepositoryGuard(
            project.root,
            bus.emit,
            alive=partial(marked_descendants, RUN_MARK, run_id),
            # Servers that the person adds run outside the sandbox.
            confined=self._sandbox.holds
            and not any(extras_of(self._settings, phase).mcp_servers for phase in Phase),
            documents=DocumentHold(project.root, project.undo_agent_edits, self._warn),
        )
        self._commits = TaskCommits(
            self.project_state,
            place,
            bus.emit,
            run_id=run_id,
            guard=self._repository_guard,
            hooks=HookSandbox(
                self._sandbox,
                self._hook_environment,
                services.settings.phases.building.gate_timeout_seconds,
            ),
        )
        self._snapshots = IterationSnapshots(self._tree.store, run_id, bus.emit)
        self._passing: dict[str, None] = {}
        """The commands that passed in this run and have not failed since, the latest last."""
        bus.subscribe("passing commands", self._note_checks)
        bus.subscribe("repository guard", self._repository_guard.note)
        self._agent: Agent = _UnmadeAgent()
        self._limits: RunLimits | None = None
        self._checks = ChecksOfRun(project.root, self._settings)
        self._baseline = Baseline(project.root)

    async def run(self, phase: Phase) -> LoopFinished:
        since = time.monotonic()
        docs, stale = await begin_run(
            self._project, self._settings, self._request, self._run_id, phase
        )
        request = self._request.text.strip() if phase is Phase.DISCOVERY else ""
        self._bus.emit(run_started(self._project, self._settings, docs, self._run_id, request))
        await self.project_state.open()
        if stale:
            text = f"Requeued after a run that was cut short: {', '.join(stale)}."
            self._warn(text)
        if self._confinement.warning:
            self._warn(self._confinement.warning)
        try:
            await self._commits.begin()
            await self._repository_guard.begin()
            await withdraw_open_questions(self.project_state, phase)
            async with self._parts():
                end = await self._work(phase)
        except (RalphError, OSError) as error:  # may also come from the cleanup
            end = failed_end(error)
        end = await self._final_check(end)
        await self._archive(end)
        await self._commits.report_commits()
        if self._confinement.warning:
            self._warn(f"This run had no sandbox. Nothing held back {NOT_HELD}.")
        return await self._finished(end, since)

    async def _work(self, phase: Phase) -> End:
        order = PhaseOrder(self.context, self._request)
        try:
            if orphans := await asyncio.to_thread(find_orphans, self._project.root):
                await settle_orphans(await self.context(phase), orphans)
            end = await self._commits.finish_pending() or await order.run(phase)
            committed = end.status is LoopStatus.COMPLETE and await self._commits.all_complete()
        except (RalphError, OSError) as error:
            return failed_end(error)
        return committed or end

    async def _final_check(self, end: End) -> End:
        try:
            changed = await self._repository_guard.check()
        except (RalphError, OSError) as error:
            changed = failed_end(error)
        finally:
            self._repository_guard.close()
        await self.project_state.refresh()
        journal_error = await self._bus.written()
        if changed is None and journal_error is not None:
            changed = failed_end(journal_error)
        return changed if changed is not None and end.exit_code is ExitCode.COMPLETE else end

    async def _archive(self, end: End) -> None:
        if end.exit_code is not ExitCode.COMPLETE or not self._settings.archive.on_completion:
            return
        try:
            written = await asyncio.to_thread(archive_finished, self._project, utc_now())
        except (RalphError, OSError) as error:
            self._warn(f"The finished plan could not be archived: {error}")
        else:
            if written is not None:
                self._bus.emit(
                    ev.Notice(text=f"Archived the plan in .ralph/archive/{written.name}.")
                )

    async def _before_call(self, call: ToolCall) -> None:
        if may_write(call.name):
            is_held = call.name in COMMAND_TOOLS and self._confinement.sandbox is not None
            is_confined = is_held or not may_write_unnamed_files(call.name)
            await self._repository_guard.begin_command(
                call.tool_id, call.session, is_confined=is_confined
            )

    def _warn(self, text: str) -> None:
        self._bus.emit(ev.Notice(level="warning", text=text))

    def _note_checks(self, event: ev.Event) -> None:
        for receipt in event.receipts if isinstance(event, ev.GateFinished) else ():
            self._passing.pop(receipt.command, None)
            if receipt.status is ReceiptStatus.PASSED:
                self._passing[receipt.command] = None

    async def _finished(self, end: End, since: float) -> LoopFinished:
        docs = self.project_state.docs
        changes = await self._snapshots.changes()
        known = (await asyncio.to_thread(self._checks.rules)).checks.commands
        tools = {one.runner for one in known}
        seen = (one for one in reversed(self._passing) if starts_product(one, tools))
        return LoopFinished(
            status=end.status,
            reason=end.reason,
            hint=end.hint,
            exit_code=int(end.exit_code),
            iterations=self._limits.done if self._limits else 0,
            tasks_complete=docs.plan.counts()[TaskStatus.COMPLETE],
            tasks_total=len(docs.plan.tasks),
            tasks_unverified=sum(task.is_unverified for task in docs.plan.tasks),
            cost_usd=docs.state.session_cost_usd,
            seconds=time.monotonic() - since,
            files_changed=len(changes),
            lines_added=sum(one.additions for one in changes),
            lines_removed=sum(one.deletions for one in changes),
            start_command=next(seen, "") if changes else "",
        )

    @contextlib.asynccontextmanager
    async def _parts(self) -> AsyncIterator[None]:
        watchdog = Watchdog(self._run_id)
        watchdog.start()
        follower = asyncio.create_task(self.project_state.follow(), name="ralph-follow")

        def report(watched: asyncio.Task[None]) -> None:
            error = None if watched.cancelled() else watched.exception()
            if error is not None:
                text = f"Changes by other programs will now be noticed late: {error}"
                self._bus.emit(ev.Notice(level="error", text=text))

        follower.add_done_callback(report)
        companion = asyncio.create_task(self._services.beside(self._bus.emit), name="ralph-beside")
        warming = asyncio.create_task(self._commands.warm_up(), name="ralph-guard")
        try:
            await self._sandbox.open()
            self._agent = await asyncio.to_thread(self._services.make_agent)
            await asyncio.to_thread(self._checks.begin)
            for lost in self._checks.lost:
                self._warn(lost)
            yield
        finally:
            follower.cancel()
            companion.cancel()
            warming.cancel()
            await asyncio.wait([follower, companion, warming])
            await asyncio.shield(self._end_parts(watchdog))
            if not companion.cancelled():
                companion.result()  # raises, so that a bug in it is not hidden

    async def _end_parts(self, watchdog: Watchdog) -> None:
        async with contextlib.AsyncExitStack() as left:
            left.push_async_callback(asyncio.to_thread, watchdog.stop)
            left.push_async_callback(asyncio.to_thread, self._checks.end)
            left.push_async_callback(
                asyncio.to_thread, remove_mount_points, self._project.root, self._confinement
            )
            left.push_async_callback(self._sandbox.close)
            left.callback(self._tree.close)
            left.push_async_callback(self._commands.close)
            left.push_async_callback(asyncio.to_thread, end_marked, RUN_MARK, self._run_id)
            left.push_async_callback(self._agent.close)

    async def context(self, phase: Phase) -> RunContext:
        """Return the context of a phase, with the guard and the tools that it allows."""
        policy = with_own_processes(guard_policy(self._project, self._settings, phase))
        guard = Guard(policy, self._commands)
        # Checks run as in building, also where the agent may run no commands.
        building = guard_policy(self._project, self._settings, Phase.BUILDING)
        gate = await self._gate(Guard(with_own_processes(building), self._commands))
        self._commits.made_by_checks = gate.base.made_by_checks.paths
        inherited = self._services.everything
        environment = {
            **self._services.environment,
            **cli_overlay(policy, inherited),
            **self._marks,
            **extra_environment(extras_of(self._settings, phase), inherited),
        }
        spec_for = spec_maker(
            self._project,
            self._settings_now,
            environment,
            phase,
            sandbox=self._confinement.sandbox,
        )
        run = RunContext(
            project_state=self.project_state,
            request=self._request,
            configured=self._settings,
            phase=phase,
            spec_for=spec_for,
            agent=self._agent,
            gate=gate,
            review=guard.review,
            review_written=guard.recheck_write,
            emit=self._bus.emit,
            clock=utc_now,
            journal_error=self._bus.written,
            commits=self._commits,
            snapshots=self._snapshots,
            before_call=self._before_call,
            keep_prompt=partial(write_last_prompt, self._project.layout),
        )
        if self._limits is None:
            self._limits = RunLimits(run, self._repository_guard)
            self._bus.subscribe("quota", self._limits.note)
        run.limits = self._limits
        return run

    async def _gate(self, guard: Guard) -> Gate:
        if self._settings.phases.building.baseline:
            await asyncio.to_thread(self._baseline.load)
        gate = make_gate(
            self._project.root,
            self._settings,
            guard,
            self._sandbox,
            self._bus.emit,
            {**self._services.everything, **self._marks},
            self._checks.rules,
        )
        gate.use(self._tree)
        gate.watch = self._repository_guard
        gate.baseline = self._baseline
        return gate

    def _hook_environment(self) -> dict[str, str]:
        policy = guard_policy(self._project, self._settings, Phase.BUILDING)
        base = agent_environment(policy, self._services.everything)
        base = gate_environment(base, self._marks)
        path = base.get("PATH", os.defpath).split(os.pathsep)
        prefixes = ("GIT_CONFIG_", "RALPH_GUARD_")
        kept = {name: value for name, value in base.items() if not name.startswith(prefixes)}
        return kept | {"PATH": os.pathsep.join(part for part in path if part != str(SHIMS))}

    def _settings_now(self) -> Settings:
        return adjusted_settings(self._settings, self.project_state.docs.state.adjusted)


async def run_loop(
    root: Path, services: RunServices, request: RunRequest, sink: EventSink
) -> LoopFinished:
    """Run the loop to its end.

    Args:
        sink: Receives every event, on the caller's event loop.

    Raises:
        RalphError: A problem was found before anything was started or spent.
    """
    settings, everything = services.settings, services.everything
    hide(secret_values(os.environ))
    blank_keys()
    hide(extra_values(settings, everything))
    project = Project(root)
    phase = await asyncio.to_thread(_check_before_start, project, services, request)
    async with contextlib.AsyncExitStack() as left:
        # The SDK is imported in the background, while the next steps wait for the disk.
        warming = asyncio.create_task(asyncio.to_thread(_warm_up, services), name="ralph-warm-up")
        left.push_async_callback(asyncio.wait, [warming])
        confinement = await asyncio.to_thread(confine, project.root, settings.safety, everything)
        is_confined, run_id = confinement.sandbox is not None, uuid.uuid4().hex
        place, _ = await asyncio.to_thread(
            place_to_work, project, settings, request, sandboxed=is_confined
        )
        lock = LoopLock(project.layout)
        await asyncio.to_thread(lock.acquire, run_id, confined=is_confined)
        left.push_async_callback(lambda: asyncio.shield(asyncio.to_thread(lock.release)))
        await asyncio.to_thread(project.transact, lambda docs: docs)  # creates ralph's own copies
        await asyncio.to_thread(move_journal, project.layout)
        journal = await asyncio.to_thread(JournalWriter, project.layout.events)
        files = RunFiles(project.layout, settings.exports)
        left.push_async_callback(lambda: asyncio.shield(asyncio.to_thread(files.close)))
        bus = EventBus(journal, sink, files.write)
        bus.start()
        left.push_async_callback(bus.close)

        def warn(text: str) -> None:
            bus.emit(ev.Notice(level="warning", text=text))

        for text in journal.damage:
            warn(text)
        bus.subscribe("run files", files.note)
        marks = {RUN_MARK: run_id}
        targets = NotificationTargets(project, settings, confinement.sandbox, everything, marks)
        notifier = Notifier(targets, bus.emit, waits=request.interactive)
        bus.subscribe("notifications", notifier.note)
        left.push_async_callback(notifier.close)
        runner = await asyncio.to_thread(
            Runner, project, services, request, bus, run_id, confinement, place
        )
        finished = await runner.run(phase)
        await notifier.finish(finished)  # its errors must be reported before the last event
        bus.emit(finished)
        return finished


def _warm_up(services: RunServices) -> None:
    with contextlib.suppress(ImportError):  # reported when the agent is made
        services.warm_up()


def _check_before_start(project: Project, services: RunServices, request: RunRequest) -> Phase:
    LoopLock(project.layout).require_free()  # otherwise another loop's plan would be judged
    phase = checked_phase(project, project.load(), services, request)
    RepositoryWatcher(project.root).snapshot()
    project.create()  # a hand-made .ralph lacks the directories the loop writes to
    return phase
