"""Provide the types of steps; a type of an installed package is loaded only if a step uses it."""

import asyncio
from collections.abc import Mapping
from importlib.metadata import entry_points
from inspect import iscoroutinefunction

from ralph_tui.config.step_settings import (
    AGENT,
    BUILT_IN,
    COMMAND,
    COMMIT,
    NOOP,
    README,
    WORK,
    StepSettings,
)
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import session_meter
from ralph_tui.engine.control.step_records import step_text
from ralph_tui.engine.core.ports import TurnEnded
from ralph_tui.engine.core.usage_meter import UsageMeter
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
    meter = session_meter(run)
    spec = await asyncio.to_thread(
        step_spec,
        run.spec_for(meter.costs.remaining(meter.limits)),
        run.project,
        run.settings,
        job.settings.model,
    )
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
    """Return where in the run the step is, to append to its instructions."""
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
