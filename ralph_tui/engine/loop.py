"""The loop: select, prompt, session, gate, record; and the reasons to stop."""

import asyncio
import time
from collections.abc import Callable

from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import BreakerState
from ralph_tui.domain.budget import ContextBudget
from ralph_tui.domain.costs import CostLevel, CostMeter
from ralph_tui.domain.errors import ExitCode, PlanError, RalphError
from ralph_tui.domain.events import FailureClass, LoopStatus
from ralph_tui.domain.model import Model
from ralph_tui.domain.plan import ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.state import Halt, Injection
from ralph_tui.engine.handoff import iteration_memory, memory_for_prompt, session_record
from ralph_tui.engine.iteration import Iteration, IterationResult
from ralph_tui.engine.metering import Meter
from ralph_tui.engine.ports import AgentSession, SessionSpec
from ralph_tui.engine.prompting import PromptParts, building_prompt, builtin_template
from ralph_tui.engine.record import recorded
from ralph_tui.engine.workshop import Workshop
from ralph_tui.store.project import Documents

PROMPT_LIMIT = 40_000
"""Characters of a file that goes into a prompt."""

KEPT_LEARNINGS = 20

SpecFor = Callable[[float], SessionSpec]
"""Makes the session's spec for what may still be spent, in US dollars."""

_FATAL = {
    FailureClass.AUTHENTICATION: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.BILLING: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.BAD_REQUEST: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.SETUP: (LoopStatus.ERROR, ExitCode.ERROR),
    FailureClass.USAGE_LIMIT: (LoopStatus.USAGE_LIMIT, ExitCode.USAGE_LIMIT),
}
"""Failures that another iteration cannot get past."""


class End(Model):
    """Why the loop is over."""

    status: LoopStatus
    reason: str
    exit_code: ExitCode
    hint: str = ""


class BuildLoop:
    """Works the plan, one task an iteration, until there is a reason to stop."""

    def __init__(self, shop: Workshop, spec_for: SpecFor, *, max_iterations: int) -> None:
        """Run at most `max_iterations` iterations."""
        self._shop = shop
        self._spec_for = spec_for
        self._max_iterations = max_iterations
        self._done = 0
        self._closing: set[asyncio.Task[None]] = set()
        self._paused = False

    async def run(self) -> ev.LoopFinished:
        """Work until the end; problems after the start end in the event, not in an exception."""
        started = time.monotonic()
        try:
            end = await self._work()
        except RalphError as error:
            end = End(
                status=LoopStatus.ERROR,
                reason=error.message,
                hint=error.hint,
                exit_code=error.exit_code,
            )
        finally:
            await self._put_back()
            if self._closing:
                await asyncio.wait(self._closing)
        docs = self._shop.ledger.docs
        return ev.LoopFinished(
            status=end.status,
            reason=end.reason,
            hint=end.hint,
            exit_code=int(end.exit_code),
            iterations=self._done,
            tasks_complete=docs.plan.counts()[TaskStatus.COMPLETE],
            tasks_total=len(docs.plan.tasks),
            cost_usd=docs.state.session_cost_usd,
            seconds=time.monotonic() - started,
        )

    async def _work(self) -> End:
        while True:
            end = await self._reason_to_stop()
            if end is not None:
                return end
            task = self._docs.plan.get_next_task()
            if task is None:
                return _nothing_ready(self._docs.plan)
            end = await self._iterate(task)
            if end is not None:
                return end

    @property
    def _docs(self) -> Documents:
        return self._shop.ledger.docs

    async def _reason_to_stop(self) -> End | None:
        """Everything that is looked at before money is spent on another iteration."""
        await self._wait_while_paused()
        docs = self._docs
        if docs.state.stop is not Halt.NONE:
            reason = "stopped by the person"
            return End(status=LoopStatus.INTERRUPTED, reason=reason, exit_code=ExitCode.INTERRUPTED)
        if docs.plan.is_finished:
            count = len(docs.plan.tasks)
            reason = (
                "the only task is complete" if count == 1 else f"all {count} tasks are complete"
            )
            return End(status=LoopStatus.COMPLETE, reason=reason, exit_code=ExitCode.COMPLETE)
        require_workable(docs.plan)
        return self._limit_reached()

    def _limit_reached(self) -> End | None:
        breaker = self._docs.breaker
        if breaker.state is BreakerState.OPEN:
            signal = breaker.tripped()
            counts = (
                f"{signal.name} {signal.count:g}/{signal.threshold:g}"
                if signal
                else "its try failed"
            )
            evidence = f" (last: {signal.evidence[-1]})" if signal and signal.evidence else ""
            reason = f"the circuit breaker is open: {counts}{evidence}"
            return _stopped(reason, "Put right what failed, then run again; a new run resets it.")
        costs, limits = self._costs(), self._shop.settings.safety.cost_limits
        level = costs.exceeded(limits)
        if level in (CostLevel.SESSION, CostLevel.TOTAL):
            reason = f"the {level.value} cost ${costs.of(level):.2f} of ${limits.of(level):.2f}"
            setting = "per_session" if level is CostLevel.SESSION else "total"
            return _stopped(reason, f"Raise safety.cost_limits.{setting} to go on.")
        if self._done >= self._max_iterations:
            reason = f"{self._max_iterations} iterations were run, the most this run may"
            return _stopped(reason, "Run again, or raise --max-iterations.")
        return None

    def _costs(self) -> CostMeter:
        state = self._docs.state
        return CostMeter(session=state.session_cost_usd, total=state.total_cost_usd)

    async def _wait_while_paused(self) -> None:
        while (state := self._docs.state).pause is not Halt.NONE and state.stop is Halt.NONE:
            if not self._paused:
                self._paused = True
                self._shop.emit(ev.LoopPaused())
            await self._shop.ledger.wait_changed()
        self._paused = False

    async def _iterate(self, task: Task) -> End | None:
        """One iteration and its record; a reason to stop when another cannot help."""
        number, guidance = await self._begin(task)
        meter = Meter(
            self._costs(),
            self._shop.settings.safety.cost_limits,
            session_budget(self._shop),
            follow_model=self._shop.settings.context.capacity_tokens == "auto",
        )
        prompt = await self._prompt(task, number, guidance)
        spec = self._spec_for(meter.costs.remaining(meter.limits))
        iteration = Iteration(self._shop, task, number=number, spec=spec, meter=meter)
        self._announce(task, number, len(prompt))
        result, session = await iteration.run(prompt)
        self._close_later(session)
        self._done += 1
        await self._record(task, number, result)
        if result.failure is None or result.failure.kind not in _FATAL:
            return None
        status, code = _FATAL[result.failure.kind]
        failure = result.failure
        return End(status=status, reason=failure.message, hint=failure.hint, exit_code=code)

    async def _begin(self, task: Task) -> tuple[int, tuple[str, ...]]:
        """Mark the task, count the iteration and take the guidance that waits."""
        waiting: tuple[Injection, ...] = ()

        def change(docs: Documents) -> Documents:
            nonlocal waiting
            waiting = docs.pending  # as it is under the lock, so that none is lost
            number = docs.state.iteration_count + 1
            state = docs.state.model_copy(update={"iteration_count": number})
            plan = docs.plan.with_task(task.id, status=TaskStatus.IN_PROGRESS)
            return docs.model_copy(update={"state": state, "plan": plan, "pending": ()})

        docs = await self._shop.ledger.transact(change, "chosen")
        number = docs.state.iteration_count
        if waiting:
            ids = tuple(injection.id for injection in waiting)
            self._shop.emit(ev.InjectionConsumed(ids=ids, iteration=number))
        return number, tuple(injection.guidance for injection in waiting)

    def _announce(self, task: Task, number: int, prompt_chars: int) -> None:
        self._shop.emit(
            ev.IterationStarted(
                iteration=number,
                task_id=task.id,
                title=task.title,
                why=why_chosen(self._plan_before(task), task),
                attempt=task.retry_count + 1,
                prompt_chars=prompt_chars,
            )
        )

    def _plan_before(self, task: Task) -> ImplementationPlan:
        return self._docs.plan.with_task(task.id, status=TaskStatus.PENDING)

    async def _prompt(self, task: Task, number: int, guidance: tuple[str, ...]) -> str:
        project = self._shop.ledger.project
        layout = project.layout

        def build() -> str:
            own = layout.prompt(self._docs.state.current_phase)
            template = project.read_text(own, PROMPT_LIMIT)
            parts = PromptParts(
                iteration=number,
                task=task,
                checks=tuple(check.command for check in self._shop.gate.checks(task)),
                guidance=guidance,
                memory=memory_for_prompt(project),
                learnings=project.read_learnings(KEPT_LEARNINGS),
                agents_md=project.read_text(layout.agents_md, PROMPT_LIMIT),
            )
            source = own.name if template else "build.md"
            return building_prompt(template or builtin_template("build.md"), parts, source=source)

        return await asyncio.to_thread(build)

    def _close_later(self, session: AgentSession) -> None:
        """Ending a CLI takes a moment that the next iteration need not wait for."""
        task = asyncio.create_task(session.close(), name="ralph-close-session")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _record(self, task: Task, number: int, result: IterationResult) -> None:
        """Write down the outcome: the task, the breaker, the totals, the memory, the archive."""
        await self._shop.ledger.transact(
            lambda docs: recorded(docs, task.id, result), f"iteration {number}: {result.reason}"
        )
        project = self._shop.ledger.project

        def write() -> None:
            text = iteration_memory(number, task.id, task.title, result)
            project.write_iteration_memory(number, text)
            project.archive_session(session_record(number, task.id, result))

        await asyncio.to_thread(write)
        if result.failure is not None:
            failure = result.failure
            self._shop.emit(
                ev.AgentFailed(
                    failure=failure.kind,
                    message=failure.message,
                    hint=failure.hint,
                    resets_at=failure.resets_at,
                )
            )
        self._shop.emit(
            ev.IterationFinished(
                iteration=number,
                task_id=task.id,
                outcome=result.outcome,
                reason=result.reason,
                cost_usd=result.cost_usd,
                tokens=result.tokens,
                context_tokens=result.context_tokens,
                seconds=result.seconds,
                handoff=result.handed_off,
                files_changed=result.files,
            )
        )

    async def _put_back(self) -> None:
        """However the loop ended, no task is left in progress."""
        if self._docs.plan.get_current_task() is not None:

            def change(docs: Documents) -> Documents:
                plan, _ = docs.plan.reset_stale()
                return docs.model_copy(update={"plan": plan})

            await self._shop.ledger.transact(change, "the loop ended")


def session_budget(shop: Workshop) -> ContextBudget:
    """The budget of a fresh session, from the settings."""
    context = shop.settings.context
    capacity = 200_000 if context.capacity_tokens == "auto" else context.capacity_tokens
    return ContextBudget(
        total_capacity=capacity,
        budget_percent=context.budget_percent,
        handoff_threshold_percent=context.handoff_threshold_percent,
    )


def require_workable(plan: ImplementationPlan) -> None:
    """Refuse a plan that cannot be worked.

    Raises:
        PlanError: Naming every problem.
    """
    problems = plan.problems()
    if problems:
        message = " ".join(problem.message for problem in problems[:5])
        raise PlanError(
            message, "Correct .ralph/implementation_plan.json; nothing was spent on it."
        )
    if not plan.tasks:
        message = "The plan has no tasks."
        raise PlanError(message, "Write them into .ralph/implementation_plan.json.")


def _stopped(reason: str, hint: str) -> End:
    return End(status=LoopStatus.STOPPED, reason=reason, hint=hint, exit_code=ExitCode.STOPPED)


def _nothing_ready(plan: ImplementationPlan) -> End:
    """No task can be selected, yet the plan is not finished: say what is in the way."""
    blocked = [t.id for t in plan.tasks if t.status is TaskStatus.BLOCKED]
    waiting = [t.id for t in plan.tasks if t.status is TaskStatus.PENDING]
    parts = []
    if blocked:
        parts.append(f"{_count(blocked, 'task')} blocked ({', '.join(blocked[:5])})")
    if waiting:
        parts.append(f"{len(waiting)} waiting on them ({', '.join(waiting[:5])})")
    hint = "`ralph tasks` shows why; `ralph retry TASK` opens a blocked task again."
    return _stopped(f"no task can be worked: {', '.join(parts)}", hint)


def _count(items: list[str], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
