"""Run one step, with its attempts, time limit and breaker, and the person's stops and pauses."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping

from ralph_tui.config.step_settings import AGENT, COMMIT, NOOP, README, StepSettings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError, SetupError, StoreError
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import RalphState, StopMode
from ralph_tui.domain.run.steps import StepLog, StepOutcome, StepRecord, digest_of
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.step_records import has_changed, step_text
from ralph_tui.engine.core.outcome import End, interrupted_end, stopped_end
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.steps.step_type import RunStep, StepJob, StepResult, failed
from ralph_tui.engine.steps.step_types import step_types

GRACE_SECONDS = 10.0
"""How long after its own time limit a step may take to clean up."""

_SHOWN_TAIL = 300
_RUNS_NOTHING = frozenset({COMMIT, README, NOOP})
"""Types of steps that run no program of the project."""


def immediate_stop_requested(state: RalphState) -> bool:
    return StopMode.NOW in (state.stop, state.pause)


class StepRunner:
    """Runs the steps of one run, one at a time."""

    def __init__(self, run: RunContext, steps: Mapping[str, StepSettings]) -> None:
        self._run = run
        self._steps = steps
        self._types = step_types(steps)
        self._warned_changed: set[str] = set()

    async def run(
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
                if await self._run.limits.wait_out(result.failure):
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
