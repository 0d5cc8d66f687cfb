"""Run the steps around the work of an iteration, also after a crash: attempts, time limits, breakers and pauses."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from importlib.metadata import entry_points
from inspect import iscoroutinefunction

from ralph_tui.config.settings import Settings
from ralph_tui.config.step_settings import (
    AGENT,
    BUILT_IN,
    COMMAND,
    COMMIT,
    NOOP,
    README,
    WORK,
    StepSettings,
    after_work,
    before_work,
)
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import ConfigError, ExitCode, RalphError, SetupError, StoreError
from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import RalphState, StopMode
from ralph_tui.domain.run.steps import (
    StepLog,
    StepOutcome,
    StepRecord,
    StepsLeft,
    StepWhen,
    digest_of,
)
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext, UsageMeter, new_session
from ralph_tui.engine.control.step_records import COMMITS_OFF, has_changed, step_text
from ralph_tui.engine.core.outcome import End, interrupted_end, stopped_end
from ralph_tui.engine.core.ports import TurnEnded
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.prompts.prompts import section
from ralph_tui.engine.session.iteration_result import IterationResult, session_record
from ralph_tui.engine.session.spec import step_spec
from ralph_tui.engine.session.supervisor import SessionWork, WorkSupervisor
from ralph_tui.engine.session.turns import Conversation, InterruptReason, describe_interrupt
from ralph_tui.engine.steps.step_type import (
    RunStep,
    StepJob,
    StepResult,
    StepType,
    done,
    failed,
    skipped,
)
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import inside

FAILED_MARK = "STEP FAILED:"
"""The model's last message begins with this mark if it could not do the step."""

_BY_PERSON = (InterruptReason.STOP, InterruptReason.PAUSE)


async def run_session(job: StepJob) -> StepResult:
    """Run a session with instructions from a file; it handles stops, pauses and the time limit itself."""
    prompt = await asyncio.to_thread(step_text, job.run.project, job.settings)
    if not prompt.strip():
        return failed(f"{job.settings.prompt} is empty or is not a file in the project")
    end = await job.run.limits.reason_to_refuse_session()
    if end is not None:
        return failed(end.reason).model_copy(update={"end": end})
    run, tasks = job.run, job.run.docs.plan.tasks
    meter, spec = new_session(run)
    spec = await asyncio.to_thread(step_spec, spec, run.project, run.settings, job.settings.model)
    seconds = job.settings.timeout_seconds
    work = SessionWork(prompt + position(job), f"step {job.name}", _nothing_missing, handlers={})
    supervisor = WorkSupervisor(run, work)
    await asyncio.to_thread(run.keep_prompt, spec.system_prompt, work.prompt)
    await run.gate.begin("", tasks)
    async with Conversation(run, supervisor, spec, meter, seconds=seconds) as conversation:
        ended = await conversation.run_turn(work.prompt)
    await conversation.session.close()
    await run.gate.end()
    result = _result(ended, conversation.interrupted, meter, seconds)
    used = conversation.with_usage(
        IterationResult(outcome=_OUTCOMES[result.outcome], reason=result.reason)
    )
    record = session_record(job.iteration, f"step {job.name}", used)
    record = record.model_copy(update={"tasks_completed": 0, "handoff_reason": used.outcome.value})
    await asyncio.to_thread(run.project.archive_session, record)
    if conversation.interrupted is InterruptReason.COST:
        result = result.model_copy(update={"end": await job.run.limits.reason_to_refuse_session()})
    return result.model_copy(update={"cost_usd": used.cost_usd, "tokens": used.tokens})


async def _nothing_missing() -> None: ...


def position(job: StepJob) -> str:
    if job.task is None:
        return section("Where you are", f"The step {job.name}, at the end of a run.")
    words = f"The step {job.name}, in iteration {job.iteration} on task {job.task.id}."
    return section("Where you are", f"{words}\nThe task, as material: {job.task.title}")


def _result(
    ended: TurnEnded, interrupted: InterruptReason, meter: UsageMeter, seconds: float
) -> StepResult:
    if interrupted in _BY_PERSON:
        return StepResult(outcome=StepOutcome.INTERRUPTED, reason=interrupted.value)
    if interrupted is InterruptReason.TIME:
        return failed(f"timed out after {duration(seconds)}")
    if interrupted is not InterruptReason.NONE:
        return failed(describe_interrupt(interrupted, meter, seconds))
    if ended.failure is not None:
        return failed(ended.failure.message).model_copy(update={"failure": ended.failure})
    message = ended.text.strip()
    if message.startswith(FAILED_MARK):
        return failed(one_line(message.removeprefix(FAILED_MARK), 300) or "the model gave up")
    return StepResult(outcome=StepOutcome.DONE, reason=one_line(message, 160))


_OUTCOMES = {
    StepOutcome.DONE: IterationOutcome.COMPLETE,
    StepOutcome.FAILED: IterationOutcome.FAILED,
    StepOutcome.SKIPPED: IterationOutcome.SKIPPED,
    StepOutcome.INTERRUPTED: IterationOutcome.INTERRUPTED,
}


README_FILE = "README.md"


async def commit(job: StepJob) -> StepResult:
    if job.task is None:
        return skipped("no task was completed")
    end = await job.run.commits.task_complete(job.task.id)
    return failed(end.reason).model_copy(update={"end": end}) if end is not None else done()


async def require_readme(job: StepJob) -> StepResult:
    name = job.settings.path or README_FILE
    path = await asyncio.to_thread(inside, job.root, job.root / name)
    if path is None:
        return failed(f"{name} is outside the project")
    if not await asyncio.to_thread(path.is_file):
        return failed(f"{name} does not exist")
    if not (await asyncio.to_thread(job.run.project.read_text, path, 10_000)).strip():
        return failed(f"{name} is empty")
    return done(f"{name} exists")


async def do_nothing(_: StepJob) -> StepResult:
    return done()


ENTRY_POINT_GROUP = "ralph_tui.steps"

_BUILT_IN_TYPES: Mapping[str, RunStep] = {
    COMMIT: commit,
    AGENT: run_session,
    COMMAND: lambda job: job.command(job.settings.run),
    README: require_readme,
    NOOP: do_nothing,
}


def step_types(steps: Mapping[str, StepSettings]) -> Mapping[str, RunStep]:
    return {
        name: _BUILT_IN_TYPES.get(step.type) or _packaged(name, step.type)
        for name, step in steps.items()
        if step.enabled and step.type != WORK
    }


def _packaged(step: str, kind: str) -> RunStep:
    found = tuple(entry_points(group=ENTRY_POINT_GROUP, name=kind))
    if not found:
        others = sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})
        known = ", ".join((*(name for name in BUILT_IN if name != WORK), *others))
        raise ConfigError(
            f"steps.{step}: there is no step type {one_line(kind, 60)!r}.",
            f"Known: {known}. Packages can add others (see docs/steps.md).",
        )
    point = found[0]
    package = point.dist.name if point.dist is not None else point.value
    hint = f"Repair or remove the package {package}, or set steps.{step}.enabled to false."
    try:
        instance = point.load()()
    except (Exception, SystemExit) as error:
        why = one_line(f"{type(error).__name__}: {error}", 200)
        raise ConfigError(
            f"steps.{step}: the type {point.name} of {package} cannot be loaded: {why}.", hint
        ) from error
    if not iscoroutinefunction(getattr(instance, "run", None)):
        raise ConfigError(
            f"steps.{step}: the type {point.name} of {package} has no `async def run(self, job)`.",
            hint,
        )
    step_type: StepType = instance
    return step_type.run


GRACE_SECONDS = 10.0
"""How long after its own time limit a step may take to clean up."""

_SHOWN_TAIL = 300
_RUNS_NOTHING = frozenset({COMMIT, README, NOOP})
"""Types of steps that run no program of the project."""


def immediate_stop_requested(state: RalphState) -> bool:
    return StopMode.NOW in (state.stop, state.pause)


class StepsAroundWork:
    """Runs the steps of one run, one at a time."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._settings = run.configured
        self._steps = run.configured.steps_in_order
        self._types = step_types(self._steps)
        self._warns_commits_off = bool(self._settings.steps) and self._settings.git.commit == "off"
        self._warned_changed: set[str] = set()

    def with_pending_steps(self, docs: Documents, iteration: int, task_id: str) -> StepLog:
        """Return the log at the start of an iteration's work, with the steps to run after it, even after a crash."""
        following = steps_after(self._settings)
        if not following:
            return docs.steps
        left = StepsLeft(iteration=iteration, task_id=task_id, left=following)
        return docs.steps.model_copy(update={"under_way": left})

    async def before(self, task: Task) -> End | None:
        named = [n for n, s in self._steps.items() if s.type == COMMIT and s.enabled]
        if self._warns_commits_off and named:
            self._warns_commits_off = False
            text = f"The step {named[0]} does nothing: {COMMITS_OFF}."
            self._run.emit(Notice(level="warning", text=text))
        number = self._run.docs.state.iteration_count + 1
        for name in due_steps(self._settings, before_work(self._steps), StepWhen.ALWAYS):
            end = await self._run_step(name, iteration=number, task=task)
            if end is not None:
                return end
        return None

    async def run_pending(self) -> End | None:
        """Run the pending steps of a finished iteration, if the last run was killed or stopped before them."""
        left = self._run.docs.steps.under_way
        if left is None:
            return None
        task = self._run.docs.plan.task(left.task_id)
        if left.complete is None and (task is None or task.status is not TaskStatus.COMPLETE):
            await self.drop_pending()  # the work was not finished, so no step follows it
            return None
        complete = left.complete is not False
        due = due_steps(self._settings, steps_after(self._settings), *_whens(complete=complete))
        if names := [name for name in left.left if name in due]:
            text = (
                f"The last run ended before these steps of iteration {left.iteration}: "
                f"{', '.join(names)}. Running them now."
            )
            self._run.emit(Notice(text=text))
        return await self.after(complete=complete)

    async def after(self, *, complete: bool) -> End | None:
        """Run the steps after the work of an iteration; return an end if the run may not continue."""
        if self._run.docs.steps.under_way is None:
            return None
        left = await self._change_pending(
            lambda left: left.model_copy(update={"complete": complete})
        )
        changed = await self._run.limits.repository_guard.check()
        if changed is not None:
            return changed
        while left is not None and left.left:
            name = left.left[0]
            if due_steps(self._settings, (name,), *_whens(complete=complete)):
                task = self._run.docs.plan.task(left.task_id)
                end = await self._run_step(
                    name, iteration=left.iteration, task=task, stoppable=False
                )
                if end is not None:
                    return end
            left = await self._change_pending(partial(StepsLeft.without, name=name))
        await self.drop_pending()
        return None

    async def drop_pending(self) -> None:
        if self._run.docs.steps.under_way is not None:
            await self._change_pending(lambda _: None)

    async def _change_pending(
        self, change: Callable[[StepsLeft], StepsLeft | None]
    ) -> StepsLeft | None:
        def changed(docs: Documents) -> Documents:
            left = docs.steps.under_way
            update = {"under_way": change(left) if left is not None else None}
            return docs.replacing(steps=docs.steps.model_copy(update=update))

        return (await self._run.project_state.transact(changed)).steps.under_way

    async def at_end(self, end: End) -> End:
        state = self._run.docs.state
        if end.status in _NO_END_STEPS or state.stop is StopMode.NOW:
            return end
        for name in due_steps(self._settings, tuple(self._steps), StepWhen.RUN_END):
            failed = await self._run_step(name, iteration=state.iteration_count, stoppable=False)
            if failed is not None:
                return failed if end.exit_code is ExitCode.COMPLETE else end
        return end

    async def _run_step(
        self, name: str, *, iteration: int, task: Task | None = None, stoppable: bool = True
    ) -> End | None:
        step = self._steps[name]
        job = StepJob(name, step, iteration, task, self._run, stoppable)
        record = self._run.docs.steps.of(name)
        if step.once and record.done_at is not None:
            await self._warn_changed(job, record)
            return None
        now = self._run.clock()
        if record.open_until is not None and record.is_open(now):
            left = duration((record.open_until - now).total_seconds())
            times = plural(record.failures, "failure")
            row = " in a row" if record.failures > 1 else ""
            reason = f"breaker open after {times}{row}, retrying in {left}"
            self._emit_finished(job, StepResult(outcome=StepOutcome.SKIPPED, reason=reason))
            return None
        result = await self._attempts(job, 1 if record.open_until else 1 + step.retries)
        if isinstance(result, End):
            return result
        if result.outcome is not StepOutcome.FAILED:
            return None
        return result.end or (None if step.continue_on_error else _failed_end(name, step, result))

    async def _warn_changed(self, job: StepJob, record: StepRecord) -> None:
        """Report once that a one-time step has changed since it ran, so that the person can reset it."""
        if job.name in self._warned_changed:
            return
        self._warned_changed.add(job.name)
        if await asyncio.to_thread(has_changed, self._run.project, job.settings, record):
            text = (
                f"The step {job.name} has changed since it ran. "
                f"To run it again, use `ralph steps --reset {job.name} --reason TEXT`."
            )
            self._run.emit(ev.Notice(level="warning", text=text))

    async def _attempts(self, job: StepJob, attempts: int) -> StepResult | End:
        attempt, retry_delay = 1, job.settings.retry_delay_seconds
        while True:
            end = await self._end_if_stopped(job)
            if end is not None:
                return end
            result = await self._attempt(job, attempt)
            if result.outcome is StepOutcome.INTERRUPTED:
                await self._record(job, result)
                self._emit_finished(job, result, attempt=attempt)
                continue
            passes = result.failure is not None and result.failure.kind.passes
            again = (
                result.outcome is StepOutcome.FAILED and attempt < attempts and result.end is None
            )
            delay = retry_delay if again and not passes else None
            self._emit_finished(job, result, attempt=attempt, again_in=delay)
            if result.failure is not None:
                if await self._run.limits.backoff.after(result.failure):
                    continue  # the failure passed with time, so it does not count as an attempt
                end = self._run.limits.fatal(result.failure) or result.end
                result = result.model_copy(update={"end": end})
            if not again or result.end is not None:
                await self._record(job, result)
                return result
            attempt += 1
            await self._pause(retry_delay, job)

    async def _end_if_stopped(self, job: StepJob) -> End | None:
        """Wait while the loop is paused, then return an end if the person asked to stop.

        The steps after the work belong to the iteration, so a stop or pause after the iteration lets them run.
        """
        state = self._run.docs.state
        if job.stoppable or state.pause is StopMode.NOW:
            await self._run.limits.wait_while_paused()
        state = self._run.docs.state
        stopping = state.stop is not StopMode.NONE if job.stoppable else state.stop is StopMode.NOW
        return interrupted_end(state) if stopping else None

    async def _attempt(self, job: StepJob, attempt: int) -> StepResult:
        name, step = job.name, job.settings
        await self._change(lambda log: log.begun(name))
        self._run.emit(
            ev.StepStarted(
                step=name,
                kind=step.type,
                what=step.what,
                iteration=job.iteration,
                task_id=job.task_id,
                attempt=attempt,
            )
        )
        began = time.monotonic()
        work = guarded(self._types[name], job)
        if step.type == AGENT:  # its session handles stops, pauses and the time limit
            result: StepResult | None = await work
        else:
            result = await self._run_interruptible(step, work)
        if result is None:
            word = "stopped" if self._run.docs.state.stop is StopMode.NOW else "paused"
            result = StepResult(outcome=StepOutcome.INTERRUPTED, reason=f"{word} immediately")
        if step.once and result.outcome is StepOutcome.DONE:
            digest = digest_of(await asyncio.to_thread(step_text, self._run.project, step))
            await self._change(lambda log: log.done_once(name, digest, self._run.clock()))
        return result.model_copy(update={"seconds": time.monotonic() - began})

    async def _run_interruptible(
        self, step: StepSettings, work: Coroutine[None, None, StepResult]
    ) -> StepResult | None:
        """Run a step that is not a session; return None if the person stops or pauses the loop immediately.

        A command may run code that an agent wrote, so changes of check files meanwhile are not the person's.
        """
        gate, state = self._run.gate, self._run.project_state
        if step.type in _RUNS_NOTHING:
            return await unless(state, work, immediate_stop_requested)
        await gate.begin("", self._run.docs.plan.tasks)
        try:
            return await unless(state, work, immediate_stop_requested)
        finally:
            await gate.end()

    async def _record(self, job: StepJob, result: StepResult) -> None:
        now, breaker = self._run.clock(), job.settings.breaker
        reason = one_line(result.reason, _SHOWN_TAIL)
        limits = (breaker.threshold, breaker.reset_after_seconds) if breaker else (0, 0.0)
        await self._change(lambda log: log.ended(job.name, result.outcome, reason, now, *limits))

    async def _change(self, change: Callable[[StepLog], StepLog]) -> None:
        await self._run.project_state.transact(
            lambda docs: docs.replacing(steps=change(docs.steps))
        )

    def _emit_finished(
        self, job: StepJob, result: StepResult, *, attempt: int = 1, again_in: float | None = None
    ) -> None:
        told = result.model_dump(exclude={"failure", "end"})
        self._run.emit(
            ev.StepFinished(
                step=job.name,
                kind=job.settings.type,
                what=job.settings.what,
                iteration=job.iteration,
                task_id=job.task_id,
                attempt=attempt,
                again_in=again_in,
                **told,
            )
        )

    async def _pause(self, seconds: float, job: StepJob) -> None:
        def ends(state: RalphState) -> bool:
            is_asked = {state.stop, state.pause} != {StopMode.NONE}
            return is_asked if job.stoppable else immediate_stop_requested(state)

        if seconds > 0:
            await unless(self._run.project_state, asyncio.sleep(seconds), ends)


async def guarded(kind: RunStep, job: StepJob) -> StepResult:
    """Run one attempt; an error in the step type fails the step, except errors that prevent ralph itself from working."""
    seconds = job.settings.timeout_seconds
    bound = None if job.settings.type == AGENT else seconds + GRACE_SECONDS
    try:
        async with asyncio.timeout(bound):
            result: object = await _run_or_abandon(kind, job)
    except (StoreError, SetupError):
        raise
    except RalphError as error:
        return failed(str(error))
    except TimeoutError:
        return failed(f"timed out after {duration(seconds)}")
    except Exception as error:  # noqa: BLE001  (a package's code may raise anything)
        return failed(one_line(f"{type(error).__name__}: {error}", 300))
    if not isinstance(result, StepResult):
        return failed(f"the step type returned {type(result).__name__} instead of a StepResult")
    return result


async def _run_or_abandon(kind: RunStep, job: StepJob) -> object:
    async def work() -> object:
        try:
            return await kind(job)
        except SystemExit as error:  # would end the event loop
            raise RuntimeError(f"it called exit({error})") from error

    task = asyncio.create_task(work(), name=f"ralph-step-{job.name}")
    try:
        await asyncio.wait([task])
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=GRACE_SECONDS)


def _failed_end(name: str, step: StepSettings, result: StepResult) -> End:
    last = one_line(result.tail.strip().rpartition("\n")[2], _SHOWN_TAIL) if result.tail else ""
    output = f" (last output: {last})" if last else ""
    what = f" ({one_line(step.what, 80)})" if step.what != name else ""
    return stopped_end(
        f"the step {name}{what} failed: {result.reason}{output}",
        f"Fix the cause and run again, or set steps.{name}.continue_on_error to true.",
    )


_NO_END_STEPS = frozenset({LoopStatus.ERROR, LoopStatus.WAITING})
"""Statuses of a run whose end steps do not run, because something must be fixed or decided first."""


def check_steps(project: Project, settings: Settings, log: StepLog) -> None:
    """Refuse steps that would fail only when they start. Blocks while it reads a few files."""
    steps = settings.steps
    step_types(steps)
    off = next((n for n, s in steps.items() if s.type == COMMIT and not s.enabled), None)
    if off is not None and settings.git.commit == "task":
        raise ConfigError(
            f"steps.{off} is disabled, but git.commit is task.",
            f"Set git.commit to off, or steps.{off}.enabled to true.",
        )
    for name, step in steps.items():
        is_done = step.once and log.of(name).done_at is not None
        if step.type != AGENT or not step.enabled or is_done:
            continue
        path = inside(project.root, project.root / step.prompt)
        if path is None or not path.is_file():
            where = "outside the project" if path is None else "not a file in the project"
            raise ConfigError(
                f"steps.{name}: its prompt {step.prompt} is {where}.",
                "Write the instructions there, or remove the step from the settings.",
            )


def due_steps(settings: Settings, names: tuple[str, ...], *whens: StepWhen) -> tuple[str, ...]:
    steps = settings.steps_in_order
    return tuple(
        name
        for name in names
        if steps[name].enabled
        and steps[name].runs in whens
        and (settings.git.commit == "task" or steps[name].type != COMMIT)
    )


def steps_after(settings: Settings) -> tuple[str, ...]:
    whens = (StepWhen.ALWAYS, StepWhen.TASK_COMPLETE, StepWhen.TASK_NOT_COMPLETE)
    return due_steps(settings, after_work(settings.steps_in_order), *whens)


def _whens(*, complete: bool) -> tuple[StepWhen, StepWhen]:
    return (StepWhen.ALWAYS, StepWhen.TASK_COMPLETE if complete else StepWhen.TASK_NOT_COMPLETE)
