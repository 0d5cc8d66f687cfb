"""Run one step, with its attempts, time limit and breaker, and the person's stops and pauses."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping

from ralph_tui.config.step_settings import AGENT, COMMIT, NOOP, README, StepSettings
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import RalphError, SetupError, StoreError
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import RalphState, StopMode
from ralph_tui.domain.run.steps import StepLog, StepOutcome, StepRecord, digest_of
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext, SpecFor
from ralph_tui.engine.control.step_records import has_changed, step_text
from ralph_tui.engine.core.outcome import End, interrupted_end, stopped_end
from ralph_tui.engine.core.project_state import unless
from ralph_tui.engine.limits.run_limits import RunLimits
from ralph_tui.engine.steps.step_type import StepJob, StepResult, StepType, failed

GRACE_SECONDS = 10.0
"""How long after its own time limit a step may take to clean up."""

_SHOWN_TAIL = 300
_RUNS_NOTHING = frozenset({COMMIT, README, NOOP})
"""Types of steps that run no program of the project."""


class StepPlace(Model):
    """Where in a run a step runs."""

    iteration: int
    task: Task | None = None
    stoppable: bool = True
    """Whether a requested stop or pause after the iteration also applies to the step, as it does before the work."""


def immediate_stop_requested(state: RalphState) -> bool:
    return StopMode.NOW in (state.stop, state.pause)


class StepRunner:
    """Runs the steps of one run, one at a time."""

    def __init__(
        self,
        run: RunContext,
        run_limits: RunLimits,
        spec_for: SpecFor,
        types: Mapping[str, StepType],
    ) -> None:
        self._run = run
        self._run_limits = run_limits
        self._spec_for = spec_for
        self._types = types
        self._warned_changed: set[str] = set()

    async def run(self, name: str, step: StepSettings, place: StepPlace) -> End | None:
        """Run one step; return an end if it was stopped, or failed so that the run may not continue."""
        record = self._log.of(name)
        if step.once and record.done_at is not None:
            await self._warn_changed(name, step, record)
            return None
        now = self._run.clock()
        if record.open_until is not None and record.is_open(now):
            left = duration((record.open_until - now).total_seconds())
            times = plural(record.failures, "failure")
            row = " in a row" if record.failures > 1 else ""
            reason = f"breaker open after {times}{row}, retrying in {left}"
            self._emit_finished(
                name, step, place, StepResult(outcome=StepOutcome.SKIPPED, reason=reason)
            )
            return None
        attempts = 1 if record.open_until is not None else 1 + step.retries
        result = await self._attempts(name, step, place, attempts)
        if isinstance(result, End):
            return result
        if result.outcome is not StepOutcome.FAILED:
            return None
        if result.end is not None:
            return result.end
        return None if step.continue_on_error else _failed_end(name, step, result)

    async def _warn_changed(self, name: str, step: StepSettings, record: StepRecord) -> None:
        """Report once that a one-time step has changed since it ran, so that the person can reset it."""
        if name in self._warned_changed:
            return
        self._warned_changed.add(name)
        if await asyncio.to_thread(has_changed, self._run.project, step, record):
            text = (
                f"The step {name} has changed since it ran. "
                f"To run it again, use `ralph steps --reset {name} --reason TEXT`."
            )
            self._run.emit(ev.Notice(level="warning", text=text))

    @property
    def _log(self) -> StepLog:
        return self._run.docs.steps

    async def _attempts(
        self, name: str, step: StepSettings, place: StepPlace, attempts: int
    ) -> StepResult | End:
        attempt = 1
        while True:
            end = await self._end_if_stopped(place)
            if end is not None:
                return end
            result = await self._attempt(name, step, place, attempt)
            if result.outcome is StepOutcome.INTERRUPTED:
                await self._record(name, step, result)
                self._emit_finished(name, step, place, result, attempt=attempt)
                continue
            passes = result.failure is not None and result.failure.kind.passes
            again = (
                result.outcome is StepOutcome.FAILED and attempt < attempts and result.end is None
            )
            delay = step.retry_delay_seconds if again and not passes else None
            self._emit_finished(name, step, place, result, attempt=attempt, again_in=delay)
            if result.failure is not None:
                if await self._run_limits.wait_out(result.failure):
                    continue  # the failure passed with time, so it does not count as an attempt
                end = self._run_limits.fatal(result.failure) or result.end
                result = result.model_copy(update={"end": end})
            if not again or result.end is not None:
                await self._record(name, step, result)
                return result
            attempt += 1
            await self._pause(step.retry_delay_seconds, place)

    async def _end_if_stopped(self, place: StepPlace) -> End | None:
        """Wait while the loop is paused, then return an end if the person asked to stop.

        The steps after the work belong to the iteration, so a stop or pause after the iteration lets them run.
        """
        state = self._run.docs.state
        if place.stoppable or state.pause is StopMode.NOW:
            await self._run_limits.wait_while_paused()
        state = self._run.docs.state
        stopping = (
            state.stop is not StopMode.NONE if place.stoppable else state.stop is StopMode.NOW
        )
        return interrupted_end(state) if stopping else None

    async def _attempt(
        self, name: str, step: StepSettings, place: StepPlace, attempt: int
    ) -> StepResult:
        job = StepJob(
            name=name,
            settings=step,
            iteration=place.iteration,
            task=place.task,
            run=self._run,
            run_limits=self._run_limits,
            spec_for=self._spec_for,
        )
        await self._change(lambda log: log.begun(name))
        self._run.emit(
            ev.StepStarted(
                step=name,
                kind=step.type,
                what=step.what,
                iteration=place.iteration,
                task_id=place.task.id if place.task else "",
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

    async def _record(self, name: str, step: StepSettings, result: StepResult) -> None:
        now, breaker = self._run.clock(), step.breaker
        await self._change(
            lambda log: log.ended(
                name,
                result.outcome,
                one_line(result.reason, _SHOWN_TAIL),
                now,
                threshold=breaker.threshold if breaker else 0,
                reset_after=breaker.reset_after_seconds if breaker else 0.0,
            )
        )

    async def _change(self, change: Callable[[StepLog], StepLog]) -> None:
        await self._run.project_state.transact(
            lambda docs: docs.replacing(steps=change(docs.steps))
        )

    def _emit_finished(
        self,
        name: str,
        step: StepSettings,
        place: StepPlace,
        result: StepResult,
        *,
        attempt: int = 1,
        again_in: float | None = None,
    ) -> None:
        """Emit the event that an attempt has ended."""
        self._run.emit(
            ev.StepFinished(
                step=name,
                kind=step.type,
                what=step.what,
                iteration=place.iteration,
                task_id=place.task.id if place.task else "",
                outcome=result.outcome,
                reason=result.reason,
                attempt=attempt,
                again_in=again_in,
                exit_code=result.exit_code,
                tail=result.tail,
                sandboxed=result.sandboxed,
                cost_usd=result.cost_usd,
                tokens=result.tokens,
                seconds=result.seconds,
            )
        )

    async def _pause(self, seconds: float, place: StepPlace) -> None:
        def ends(state: RalphState) -> bool:
            is_asked = {state.stop, state.pause} != {StopMode.NONE}
            return is_asked if place.stoppable else immediate_stop_requested(state)

        if seconds > 0:
            await unless(self._run.project_state, asyncio.sleep(seconds), ends)


async def guarded(kind: StepType, job: StepJob) -> StepResult:
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


async def _run_or_abandon(kind: StepType, job: StepJob) -> object:
    async def work() -> object:
        try:
            return await kind.run(job)
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
