"""Build the plan: choose a task, run a session on it, record the result, and decide when to stop."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import Begun, ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.project_state import Injection, Phase, StopMode
from ralph_tui.domain.run.breaker import Files, restored_iteration, seen, should_remake
from ralph_tui.engine.context import RunContext, new_session
from ralph_tui.engine.core.outcome import End, all_done, complete_end, nothing_ready, stopped_end
from ralph_tui.engine.core.ports import AgentSession, SessionSpec
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.phases.finished_work import FinishedWork, accept_marked_by_hand
from ralph_tui.engine.phases.iteration import Iteration, with_task_model
from ralph_tui.engine.phases.opening_prompts import prompt_of_task
from ralph_tui.engine.prompts.prompts import PromptParts
from ralph_tui.engine.session.iteration_result import (
    IterationResult,
    begin_iteration,
    blocked_notice,
    passes_with_time,
    record_iteration,
)
from ralph_tui.engine.steps.step_runner import StepsAroundWork
from ralph_tui.engine.verification.baseline import Check, not_run, require_started
from ralph_tui.engine.verification.coverage import criteria_to_review, uncovered
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.engine.verification.gate import plan_checks
from ralph_tui.store.project import Documents

RUN_AGAIN = "Run again to continue."

_MAX_NAMED = 5


async def take_baseline(
    run: RunContext,
    known: Mapping[str, Examined] = MappingProxyType({}),
    *,
    with_tasks: bool = True,
) -> str:
    """Find out how the checks end before anything is spent, and report the failing ones.

    Returns a sentence about the tasks whose own checks pass before the work; empty if there are none.

    After an attempt at an open task, a failing check may be that attempt's fault. Then the baseline from
    before the attempt is used, and without one no failure is excused.

    Args:
        known: Results of checks that need not run again.
        with_tasks: Whether to run the criteria of the open tasks, too.
    """
    if not run.settings.phases.building.baseline:
        return ""
    baseline = run.gate.baseline
    await asyncio.to_thread(baseline.load)
    still_open = [t for t in run.docs.plan.tasks if t.status is not TaskStatus.COMPLETE]
    to_come = [t for t in still_open if t.status is not TaskStatus.BLOCKED and not t.held]
    tasks = to_come if with_tasks else []

    def planned() -> tuple[GateRules, tuple[Check, ...], tuple[str, ...], str]:
        rules = run.gate.rules()
        checks = plan_checks(tasks, rules)
        commands = tuple(check.command for check in checks)
        now = run.gate.circumstances(run.configured.model_dump_json(), commands)
        return rules, checks, commands, now

    rules, checks, commands, now = await asyncio.to_thread(planned)
    has_begun = any(task.begun or task.retry_count or task.reopened for task in still_open)
    if commands and not has_begun and not baseline.holds(now, commands):
        baseline.leave_out({})
        while True:
            rules, checks, commands, now = await asyncio.to_thread(planned)
            if number := len({*commands} - {*known}):
                text = f"Running {plural(number, 'check')} once before the first task."
                run.emit(ev.Notice(text=text))
            work = run.gate.examine_all(tasks, known)
            examined = await unless(run.project_state, work, lambda s: s.stop is StopMode.NOW)
            if examined is None:
                return ""
            spare = [one.command for one in rules.checks.commands if one.spare]
            left = await asyncio.to_thread(not_run, run.project.root, spare, examined)
            if not left:
                break
            known = examined
            baseline.leave_out(left)
        warnings = await asyncio.to_thread(
            require_started, run.project.root, checks, examined, tasks, run.gate.hidden
        )
        for text in warnings:
            run.emit(ev.Notice(level="warning", text=text))
        await asyncio.to_thread(baseline.take, now, examined, rules.commands, commands)
    await _report_failing_checks(run, still_open)
    return await asyncio.to_thread(
        passing_already, tasks, run.gate.own_checks, baseline.shows_nothing_new
    )


def passing_already(
    tasks: Sequence[Task],
    own_checks: Callable[[Task], Sequence[Check]],
    shows_nothing: Callable[[str], bool],
) -> str:
    """Return a sentence about the tasks whose own checks pass before the work; empty if there are none."""
    found = [
        task.id
        for task in tasks
        if task.shows != "kept"
        and (own := own_checks(task))
        and all(shows_nothing(check.command) for check in own)
    ]
    if not found:
        return ""
    return (
        f"All checks of {shortlist(found, _MAX_NAMED)} pass already, so they cannot show the work. Add one that fails now: "
        f"`ralph edit {found[0]} --check COMMAND`. If nothing may break and that is all: `ralph edit {found[0]} --shows kept`."
    )


async def _report_failing_checks(run: RunContext, open_tasks: Sequence[Task]) -> None:
    building, rules = run.settings.phases.building, await asyncio.to_thread(run.gate.rules)
    texts = [
        f"`{command}` already failed before this run ({what}). It must not get worse."
        for command, what in run.gate.baseline.failures()
    ]
    unchecked = texts and [
        task.id
        for task in open_tasks
        if not any(check.own for check in plan_checks((task,), rules))
        and not criteria_to_review(task, building, rules.checks)
    ]
    if unchecked:
        names = shortlist(unchecked, _MAX_NAMED)
        texts.append(
            f"These tasks have no command of their own and complete only when it passes: {names}."
        )
    for text in (*run.gate.baseline.left_out.values(), *texts):
        if text not in run.gate.baseline.told:
            run.gate.baseline.told.add(text)
            run.emit(ev.Notice(level="warning", text=text))


class BuildLoop:
    """Works on the plan, one task per iteration, until there is a reason to stop."""

    def __init__(self, run: RunContext, finished: FinishedWork) -> None:
        self._finished = finished
        self._run = run
        self._steps = StepsAroundWork(run)
        self._knows_baseline = False
        self._blocked_a_task = False
        """Whether this run has blocked a task after too many attempts."""
        self._closing: set[asyncio.Task[None]] = set()
        self._last: tuple[str, IterationResult] | None = None
        """The task and the result of the last iteration."""

    async def run(self) -> End:
        try:
            end = await self._work()
            if end.status is LoopStatus.STOPPED and self._run.limits.done:
                await self._finished.reopen(self._run)
            return end
        finally:
            await self._requeue_stale("the loop ended")
            if self._closing:
                await asyncio.wait(self._closing)

    async def _work(self) -> End:
        end = await self._steps.run_pending()
        if end is not None:
            return end
        while True:
            await accept_marked_by_hand(self._run)
            end = await self._advance() or await self._end_after_one_iteration()
            if end is not None:
                return end

    async def _end_after_one_iteration(self) -> End | None:
        if not self._run.request.once or not self._run.limits.done or self._last is None:
            return None
        task_id, result = self._last
        if result.outcome is not IterationOutcome.COMPLETE:
            reason = result.reason or result.outcome.value
            return stopped_end(f"task {task_id} is not complete: {reason}", RUN_AGAIN)
        if self._docs.plan.is_finished and not await self._finished.reopen(self._run):
            return complete_end(all_done(self._docs.plan))
        return complete_end(
            f"task {task_id} is complete, and --once ends the run after one iteration", RUN_AGAIN
        )

    async def _advance(self) -> End | None:
        plan = self._docs.plan
        if plan.is_finished:
            return None if await self._finished.reopen(self._run) else complete_end(all_done(plan))
        end = await self._run.limits.reason_to_stop()
        if end is not None:
            return end
        await self._requeue_stale("no iteration is working on it")
        require_workable(self._docs.plan)
        task = self._docs.plan.get_next_task()
        if task is None:
            if await self._finished.reopen(self._run):
                return None
            plan = self._docs.plan
            remakes = self._blocked_a_task and should_remake(plan)
            return nothing_ready(plan).model_copy(update={"remakes_plan": remakes})
        rules = await asyncio.to_thread(self._run.gate.rules)
        if task.id in uncovered(plan, self._run.settings.phases.building, rules):
            await self._block_unverifiable(task)
            return None
        if self._run.settings.agent.standby_session:
            self._run.agent.prepare(with_task_model(new_session(self._run)[1], task))
        if not self._knows_baseline:
            self._knows_baseline = True
            known = self._run.request.known.items()
            seen = {command: one for command, one in known if isinstance(one, Examined)}
            if named := await take_baseline(self._run, seen):
                self._run.emit(ev.Notice(level="warning", text=named))
            return None
        return await self._iterate(task)

    async def _block_unverifiable(self, task: Task) -> None:
        def change(docs: Documents) -> Documents:
            now = docs.plan.task(task.id)
            if now is None or now.status is not TaskStatus.PENDING:
                return docs
            blocker = (
                f"It has no check that can run. Add one with `ralph edit {now.id} --criterion '$ ./check.sh'`, then "
                f"`ralph retry {now.id}`."
            )
            blockers = (*now.blockers, blocker)
            plan = docs.plan.with_task(now.id, status=TaskStatus.BLOCKED, blockers=blockers)
            return docs.replacing(plan=plan)

        await self._run.project_state.transact(change, "it has no check that can run")

    @property
    def _docs(self) -> Documents:
        return self._run.docs

    async def _iterate(self, task: Task) -> End | None:
        end = await self._steps.before(task)
        if end is not None:
            return end
        begun = await self._begin(task.id)
        if begun is None:
            return None  # the plan changed meanwhile: choose again
        task, number, injections = begun
        guidance = tuple(injection.guidance for injection in injections)
        meter, spec = new_session(self._run)
        before = await self._run.snapshots.before(number, task.id)
        prompt = await self._prompt(task, number, guidance)
        await self._announce(task, number, spec, prompt)
        iteration = Iteration(self._run, task, number=number, spec=spec, meter=meter)
        await self._run.gate.begin(task.id, self._docs.plan.tasks)
        result, session = await iteration.run(prompt)
        await self._run.gate.end()
        self._close_later(session)
        self._run.limits.done += 1
        after = await self._run.snapshots.after(number)
        contents = Files(iteration=number, before=before, after=after)
        files = dict.fromkeys((*result.files, *await self._run.snapshots.files(before, after)))
        result = result.model_copy(update={"contents": contents, "files": tuple(files)})
        await self._run.project_state.refresh()
        if self._run.project_state.take_undone() and not result.denied:
            result = result.model_copy(update={"denied": "a change of ralph's documents"})
        await self._record(task.model_copy(update={"id": iteration.task_id}), number, result)
        self._last = (iteration.task_id, result)
        complete = result.outcome is IterationOutcome.COMPLETE
        updated = self._docs.plan.task(iteration.task_id)
        if updated is not None and complete:
            await self._finished.passed(self._run, updated, after)
        end = await self._run.limits.after(result.failure)
        if (
            end is not None
            or result.outcome is IterationOutcome.INTERRUPTED
            or passes_with_time(result)
        ):
            await self._steps.drop_pending()
            return end
        follows = self._docs.steps.under_way is not None
        end = await self._steps.after(complete=complete)
        if follows:
            await self._run.snapshots.after(number)  # including the changes of the steps
        return end

    async def _begin(self, task_id: str) -> tuple[Task, int, tuple[Injection, ...]] | None:
        """Mark the task in progress, count the iteration and take the guidance; None if the task is no longer the next."""

        def start(docs: Documents) -> Documents | None:
            task = docs.plan.get_next_task()  # read under the lock, so that no edit is overlooked
            if task is None or task.id != task_id:
                return None
            status = TaskStatus.IN_PROGRESS
            number = docs.state.iteration_count + 1
            return docs.replacing(
                plan=docs.plan.with_task(task_id, status=status, begun=task.begun or Begun()),
                steps=self._steps.with_pending_steps(docs, number, task_id),
            )

        docs, waiting = await begin_iteration(self._run, start, "chosen")
        task = docs.plan.task(task_id)
        if waiting is None or task is None:
            return None
        return task, docs.state.iteration_count, waiting

    async def _announce(self, task: Task, number: int, spec: SessionSpec, prompt: str) -> None:
        plan_before = self._docs.plan.with_task(task.id, status=TaskStatus.PENDING)
        started = ev.IterationStarted(
            iteration=number,
            task_id=task.id,
            title=task.title,
            why=why_chosen(plan_before, task),
            attempt=task.retry_count + 1,
        )
        await self._run.announce(started, spec.system_prompt, prompt)

    async def _prompt(self, task: Task, number: int, guidance: tuple[str, ...]) -> str:
        project, docs, gate = self._run.project, self._docs, self._run.gate

        def build() -> str:
            known = PromptParts(
                iteration=number,
                task=task,
                checks=tuple(check.command for check in gate.checks(task)),
                failed_before=tuple(gate.baseline.failures()),
                guidance=guidance,
            )
            text, memory = prompt_of_task(project, docs, known, self._run.request.prompt)
            project.write_active_memory(memory.whole)
            return text

        return await asyncio.to_thread(build)

    def _close_later(self, session: AgentSession) -> None:
        """Close a session in the background, so that the next iteration need not wait for the CLI to end."""
        task = asyncio.create_task(session.close(), name="ralph-close-session")
        self._closing.add(task)
        task.add_done_callback(self._note_closed)

    def _note_closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            text = f"The Claude Code CLI could not be ended: {error}"
            self._run.emit(ev.Notice(level="warning", text=text))

    async def _record(self, task: Task, number: int, result: IterationResult) -> None:
        since = restored_iteration(self._docs.breaker.left, result.contents)
        if since is not None:
            text = f"{seen(self._docs.breaker.left, result.contents)}, so later work was undone."
            self._run.emit(ev.Notice(level="warning", text=f"After iteration {number} {text}"))
        before = self._docs.plan
        docs = await record_iteration(
            self._run, number, task.id, result, phase=Phase.BUILDING, title=task.title
        )
        task_signal = blocked_notice(before, docs.plan, task.id)
        if task_signal:
            self._blocked_a_task = True
            self._run.emit(ev.Notice(level="warning", text=task_signal))

    async def _requeue_stale(self, why: str) -> None:
        if self._docs.plan.get_current_task() is not None:

            def change(docs: Documents) -> Documents:
                plan, _ = docs.plan.reset_stale()
                return docs.replacing(plan=plan)

            await self._run.project_state.transact(change, why)


def require_workable(plan: ImplementationPlan) -> None:
    if message := plan.why_unworkable():
        raise PlanError(
            message,
            "Correct .ralph/implementation_plan.json, then run again. No cost was incurred.",
        )
    if not plan.tasks:
        message = "The plan has no tasks."
        raise PlanError(
            message,
            'Make a plan with `ralph "what you want"`, or write .ralph/implementation_plan.json yourself.',
        )
