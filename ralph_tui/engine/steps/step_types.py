"""Provide the types of steps; a type of an installed package is loaded only if a step uses it."""

import asyncio
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
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
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.steps.agent_step import AgentStep
from ralph_tui.engine.steps.step_type import (
    StepJob,
    StepResult,
    StepType,
    done,
    failed,
    skipped,
)
from ralph_tui.store.text_files import inside

README_FILE = "README.md"


class CommandStep:
    """Runs a shell command in the sandbox, like the checks."""

    async def run(self, job: StepJob) -> StepResult:
        return await job.command(job.settings.run)


class CommitStep:
    """Has ralph commit the changes of the completed task."""

    async def run(self, job: StepJob) -> StepResult:
        if job.task is None:
            return skipped("no task was completed")
        end = await job.run.commits.task_complete(job.task.id)
        if end is not None:
            return failed(end.reason).model_copy(update={"end": end})
        return done()


class ReadmeStep:
    """Fails if the README is missing or empty."""

    async def run(self, job: StepJob) -> StepResult:
        name = job.settings.path or README_FILE
        path = await asyncio.to_thread(inside, job.root, job.root / name)
        if path is None:
            return failed(f"{name} is outside the project")
        if not await asyncio.to_thread(path.is_file):
            return failed(f"{name} does not exist")
        if not (await asyncio.to_thread(job.run.project.read_text, path, 10_000)).strip():
            return failed(f"{name} is empty")
        return done(f"{name} exists")


class NoopStep:
    """Does nothing, for trying out the order of steps."""

    async def run(self, job: StepJob) -> StepResult:
        del job
        return done()


ENTRY_POINT_GROUP = "ralph_tui.steps"

_BUILT_IN_TYPES: Mapping[str, Callable[[], StepType]] = {
    COMMIT: CommitStep,
    AGENT: AgentStep,
    COMMAND: CommandStep,
    README: ReadmeStep,
    NOOP: NoopStep,
}


def step_types(steps: Mapping[str, StepSettings]) -> Mapping[str, StepType]:
    """Create the type of each enabled step, by the step's name."""
    return {
        name: _create(name, step.type)
        for name, step in steps.items()
        if step.enabled and step.type != WORK
    }


def _create(step: str, kind: str) -> StepType:
    if kind in _BUILT_IN_TYPES:
        return _BUILT_IN_TYPES[kind]()
    found = tuple(entry_points(group=ENTRY_POINT_GROUP, name=kind))
    if not found:
        others = sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})
        known = ", ".join((*(name for name in BUILT_IN if name != WORK), *others))
        raise ConfigError(
            f"steps.{step}: there is no step type {one_line(kind, 60)!r}.",
            f"Known: {known}. Packages can add others (see docs/steps.md).",
        )
    return _loaded(step, found[0])


def _loaded(step: str, point: EntryPoint) -> StepType:
    """Load the step type of a package and create an instance."""
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
    return step_type
