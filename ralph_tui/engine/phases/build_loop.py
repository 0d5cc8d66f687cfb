"""Build the plan: select a task, prompt, run a session, verify, record; and know when to stop."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.events import LoopStatus
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.project_state import Injection, Phase, StopMode
from ralph_tui.domain.run.breaker import RecoveryAction, recovery_of_plan
from ralph_tui.domain.run.oscillation import Files, came_back, seen
from ralph_tui.engine.context import RunContext, SpecFor, session_meter
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, all_done, complete_end, nothing_ready, stopped_end
from ralph_tui.engine.core.ports import AgentSession, SessionSpec
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.limits.run_limits import RunLimits
from ralph_tui.engine.phases.finished_work import FinishedWork, accept_marked_by_hand
from ralph_tui.engine.phases.iteration import Iteration, fitted
from ralph_tui.engine.phases.opening_prompts import TaskFacts, prompt_of_task
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    blocked_told,
    record_iteration,
    waited_out,
)
from ralph_tui.engine.steps.around_work import StepsAroundWork
from ralph_tui.engine.verification.baseline import Baseline
from ralph_tui.engine.verification.coverage import (
    blocked_without_check,
    may_start,
)
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.fingerprint import Fingerprinter
from ralph_tui.engine.verification.work_done import look
from ralph_tui.store.project import Documents

T = TypeVar("T")

WHOLE_PLAN = RunRequest(only=Phase.BUILDING)
"""Work on the plan until it is done."""

RUN_ON = "Run again to continue."

_NAMED_TASKS = 5


async def take_baseline(run: RunContext, contents: Fingerprinter) -> None:
    """Learn which checks fail before the first task, and say so.

    Once an attempt at an open task was made, what is red may be its doing: then the baseline from before
    that attempt holds, and where there is none nothing is excused.
    """
    if not run.settings.phases.building.baseline:
        return
    baseline = run.gate.baseline
    await asyncio.to_thread(baseline.load)
    rules = await asyncio.to_thread(run.gate.rules)
    now = await asyncio.to_thread(contents.digest)
    if lacks_baseline(baseline, run.docs.plan, rules, now):
        checks = plural(len(rules.commands), "check")
        run.emit(ev.Notice(text=f"Running {checks} once before the first task."))
        examined = await unless_stopped(run, run.gate.examine_all())
        if examined is None:
            return
        await asyncio.to_thread(baseline.take, now, examined)
    await _tell(run, _open(run.docs.plan))


def lacks_baseline(
    baseline: Baseline, plan: ImplementationPlan, rules: GateRules, contents: str
) -> bool:
    """Return whether the checks run once before the first task.

    Args:
        baseline: What is known, from an earlier run.
        plan: The plan as the run begins.
        rules: The checks of every task.
        contents: The fingerprint of the project's files.
    """
    if any(task.begun or task.retry_count or task.reopened for task in _open(plan)):
        return False
    return bool(rules.commands) and not baseline.holds(contents, rules.commands)


def _open(plan: ImplementationPlan) -> list[Task]:
    return [task for task in plan.tasks if task.status is not TaskStatus.COMPLETE]


async def _tell(run: RunContext, open_tasks: Sequence[Task]) -> None:
    red = tuple(run.gate.baseline.told())
    for command, what in red:
        text = f"Before this run `{command}` fails ({what}). It must not get worse."
        run.emit(ev.Notice(level="warning", text=text))
    if not red:
        return
    bare = await asyncio.to_thread(
        lambda: [task.id for task in open_tasks if not run.gate.own_checks(task)]
    )
    if bare:
        names = shortlist(bare, _NAMED_TASKS)
        text = f"Without a command of their own these tasks complete only once it passes: {names}."
        run.emit(ev.Notice(level="warning", text=text))


async def unless_stopped(run: RunContext, work: Awaitable[T]) -> T | None:
    """Return the result of long checks; None when the person stops the run at once meanwhile."""
    return await unless(run.project_state, work, lambda state: state.stop is StopMode.NOW)


class BuildLoop:
    """Works the plan, one task an iteration, until there is a reason to stop."""

    def __init__(
        self,
        run: RunContext,
        spec_for: SpecFor,
        run_limits: RunLimits,
        finished: FinishedWork | None = None,
        steps: StepsAroundWork | None = None,
        *,
        request: RunRequest = WHOLE_PLAN,
    ) -> None:
        """Run while `run_limits` lets it; `finished` knows which checks passed earlier in this run.

        Args:
            run: The parts of the run.
            spec_for: Makes the spec of a session for what may still be spent.
            run_limits: Says whether another iteration may begin.
            finished: Knows which checks passed earlier in this run.
            steps: Runs the steps around the work; those of the settings by default.
            request: What the person asked for.
        """
        self._request = request
        self._finished = finished or FinishedWork(run.project.root)
        self._run = run
        self._steps = steps or StepsAroundWork(run, run_limits, spec_for)
        self._spec_for = spec_for
        self._run_limits = run_limits
        self._knows_baseline = False
        self._gave_up = False
        """Whether this run has blocked a task after its attempts."""
        self._closing: set[asyncio.Task[None]] = set()
        self._contents = Fingerprinter(run.project.root)
        self._last: tuple[str, IterationResult] | None = None
        """The task of the last iteration, and how that ended."""

    async def run(self) -> End:
        """Work until the plan is complete or there is another reason to stop.

        Raises:
            RalphError: The plan is unworkable, or the documents cannot be read or written.
        """
        try:
            end = await self._work()
            if end.status is LoopStatus.STOPPED and self._run_limits.done:
                await self._finished.reopen(self._run)
            return end
        finally:
            await self._put_back("the loop ended")
            if self._closing:
                await asyncio.wait(self._closing)

    async def _work(self) -> End:
        end = await self._steps.finish_left()
        if end is not None:
            return end
        while True:
            await accept_marked_by_hand(self._run)
            end = await self._next() or await self._end_of_once()
            if end is not None:
                return end

    async def _end_of_once(self) -> End | None:
        """Return the end of a run that was to be one iteration, once that is over."""
        if not self._request.once or not self._run_limits.done or self._last is None:
            return None
        task_id, result = self._last
        if result.outcome is not ev.IterationOutcome.COMPLETE:
            reason = result.reason or result.outcome.value
            return stopped_end(f"task {task_id} is not complete: {reason}", RUN_ON)
        if self._docs.plan.is_finished and not await self._finished.reopen(self._run):
            return complete_end(all_done(self._docs.plan))
        return complete_end(
            f"task {task_id} is complete, and --once asked for one iteration", RUN_ON
        )

    async def _next(self) -> End | None:
        """Work on one task, or do what comes first; returns an end when nothing is left."""
        plan = self._docs.plan
        if plan.is_finished:
            return None if await self._finished.reopen(self._run) else complete_end(all_done(plan))
        end = await self._run_limits.reason_to_stop()
        if end is not None:
            return end
        await self._put_back("nobody works on it")
        require_workable(self._docs.plan)
        task = self._docs.plan.get_next_task()
        if task is None:
            return None if await self._finished.reopen(self._run) else self._stuck()
        if not await self._can_complete(task):
            await self._set_aside(task)
            return None
        self._connect_early(task)
        if not self._knows_baseline:
            self._knows_baseline = True
            await take_baseline(self._run, self._contents)
            return None
        return await self._iterate(task)

    def _session_of(self) -> tuple[UsageMeter, SessionSpec]:
        """Return what counts the usage of a session that begins now, and what it is made to."""
        meter = session_meter(self._run, self._run_limits.costs())
        return meter, self._spec_for(meter.costs.remaining(meter.limits))

    def _connect_early(self, task: Task) -> None:
        """Let the CLI start while the baseline, the snapshot and the prompt are made; it gets no prompt before them."""
        if self._run.settings.agent.standby_session:
            _, spec = self._session_of()
            self._run.agent.prepare(fitted(spec, task))

    async def _can_complete(self, task: Task) -> bool:
        """Return whether something can verify a claim on the task, or the person allows that nothing does."""
        building = self._run.settings.phases.building
        return may_start(task, building, await asyncio.to_thread(self._run.gate.rules))

    async def _set_aside(self, task: Task) -> None:
        """Block a task that came up during the run and that no check can verify: nothing is spent on it."""

        def change(docs: Documents) -> Documents:
            now = docs.plan.task(task.id)
            if now is None or now.status is not TaskStatus.PENDING:
                return docs
            return docs.replacing(plan=blocked_without_check(docs.plan, now))

        await self._run.project_state.transact(change, "no check can run for it")

    def _stuck(self) -> End:
        """Return the end without a ready task; a plan whose tasks this run gave up may be replanned."""
        end = nothing_ready(self._docs.plan)
        action = recovery_of_plan(self._docs.plan) if self._gave_up else RecoveryAction.NONE
        return end.model_copy(update={"recovery": action})

    @property
    def _docs(self) -> Documents:
        return self._run.docs

    async def _iterate(self, task: Task) -> End | None:
        """Run and record one iteration with its steps; returns an end when another cannot help."""
        end = await self._steps.before(task)
        if end is not None:
            return end
        begun = await self._begin(task.id)
        if begun is None:
            return None  # the person was quicker: choose again
        task, number, injections = begun
        guidance = tuple(injection.guidance for injection in injections)
        meter, spec = self._session_of()
        rules = await asyncio.to_thread(self._run.gate.rules)
        await self._run.reviewer.begin(task, rules.checks)
        before = await asyncio.to_thread(self._contents.digest)
        await self._run.snapshots.before(number, task.id)
        prompt = await self._prompt(task, number, guidance)
        iteration = Iteration(self._run, task, number=number, spec=spec, meter=meter)
        self._announce(task, number, len(prompt))
        await self._run.gate.begin(task.id, self._docs.plan.tasks)
        result, session = await iteration.run(prompt)
        await self._run.gate.end(self._docs.plan.tasks)
        self._close_later(session)
        self._run_limits.done += 1
        after = await asyncio.to_thread(self._contents.digest)
        await self._run.snapshots.after(number)
        contents = Files(iteration=number, before=before, after=after)
        result = result.model_copy(update={"contents": contents})
        await self._run.project_state.refresh()
        if self._run.project_state.take_undone() and not result.denied:
            result = result.model_copy(update={"denied": "a change of ralph's documents"})
        await self._record(task.model_copy(update={"id": iteration.task_id}), number, result)
        self._last = (iteration.task_id, result)
        done = self._docs.plan.task(iteration.task_id)
        if done is not None and result.outcome is ev.IterationOutcome.COMPLETE:
            await self._finished.passed(self._run, done, after)
        end = await self._run_limits.after(result.failure)
        if (
            end is not None
            or result.outcome is ev.IterationOutcome.INTERRUPTED
            or waited_out(result)
        ):
            await self._steps.forget()
            return end
        complete = result.outcome is ev.IterationOutcome.COMPLETE
        follows = self._docs.steps.under_way is not None
        end = await self._steps.after(complete=complete)
        if follows:
            await self._run.snapshots.after(number)  # with what the steps have changed
        return end

    async def _begin(self, task_id: str) -> tuple[Task, int, tuple[Injection, ...]] | None:
        """Mark the task, count the iteration and take the guidance that waits.

        None when somebody has changed the plan since, so that this task is not the next any more.
        """
        now = await asyncio.to_thread(look, self._run.project.root)

        def start(docs: Documents) -> Documents | None:
            task = docs.plan.get_next_task()  # as it is under the lock, so that no change is lost
            if task is None or task.id != task_id:
                return None
            status = TaskStatus.IN_PROGRESS
            number = docs.state.iteration_count + 1
            return docs.replacing(
                plan=docs.plan.with_task(task_id, status=status, begun=task.begun or now),
                steps=self._steps.under_way(docs, number, task_id),
            )

        docs, waiting = await begin_iteration(self._run, start, "chosen")
        task = docs.plan.task(task_id)
        if waiting is None or task is None:
            return None
        return task, docs.state.iteration_count, waiting

    def _announce(self, task: Task, number: int, prompt_chars: int) -> None:
        self._run.emit(
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
        project, docs, gate = self._run.project, self._docs, self._run.gate

        def build() -> str:
            facts = TaskFacts(
                task,
                number,
                checks=gate.checks(task),
                red_before=tuple(gate.baseline.told()),
                guidance=guidance,
            )
            text, memory = prompt_of_task(project, docs, facts, self._request.prompt)
            project.write_active_memory(memory.whole)
            return text

        return await asyncio.to_thread(build)

    def _close_later(self, session: AgentSession) -> None:
        """Close a session in the background: ending a CLI takes a moment that the next iteration need not wait for."""
        task = asyncio.create_task(session.close(), name="ralph-close-session")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _record(self, task: Task, number: int, result: IterationResult) -> None:
        """Write down the outcome: the task, the breaker, the totals, the memory, the archive."""
        since = came_back(self._docs.breaker.left, result.contents)
        if since is not None:
            text = (
                f"{seen(self._docs.breaker.left, result.contents)}: what was done since is undone."
            )
            self._run.emit(ev.Notice(level="warning", text=f"After iteration {number} {text}"))
        before = self._docs.plan
        docs = await record_iteration(
            self._run, number, task.id, result, phase=Phase.BUILDING, title=task.title
        )
        given_up = blocked_told(before, docs.plan, task.id)
        if given_up:
            self._gave_up = True
            self._run.emit(ev.Notice(level="warning", text=given_up))

    async def _put_back(self, why: str) -> None:
        """Queue again a task left in progress: at the end, or by an editor with an older plan."""
        if self._docs.plan.get_current_task() is not None:

            def change(docs: Documents) -> Documents:
                plan, _ = docs.plan.reset_stale()
                return docs.replacing(plan=plan)

            await self._run.project_state.transact(change, why)


def require_workable(plan: ImplementationPlan) -> None:
    """Refuse an unworkable plan.

    Raises:
        PlanError: Naming every problem.
    """
    if message := plan.why_unworkable():
        raise PlanError(
            message, "Correct .ralph/implementation_plan.json; nothing was spent on it."
        )
    if not plan.tasks:
        message = "The plan has no tasks."
        raise PlanError(
            message,
            '`ralph "what you want"` makes one, or write it into .ralph/implementation_plan.json.',
        )
