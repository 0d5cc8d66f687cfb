"""Which types of steps there are; a type of an installed package is loaded only when a step names it."""

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
        """See `StepType.run`."""
        return await job.command(job.settings.run)


class CommitStep:
    """Has ralph commit what the completed task changed."""

    async def run(self, job: StepJob) -> StepResult:
        """See `StepType.run`."""
        if job.task is None:
            return skipped("no task was completed")
        end = await job.run.commits.task_complete(job.task.id)
        if end is not None:
            return failed(end.reason).model_copy(update={"end": end})
        return done()


class ReadmeStep:
    """Wants a README that says something."""

    async def run(self, job: StepJob) -> StepResult:
        """See `StepType.run`."""
        name = job.settings.path or README_FILE
        path = await asyncio.to_thread(inside, job.root, job.root / name)
        if path is None:
            return failed(f"{name} is outside of the project")
        if not await asyncio.to_thread(path.is_file):
            return failed(f"{name} is not there")
        if not (await asyncio.to_thread(job.run.project.read_text, path, 10_000)).strip():
            return failed(f"{name} is empty")
        return done(f"{name} is there")


class NoopStep:
    """Does nothing, for trying out the order of steps."""

    async def run(self, job: StepJob) -> StepResult:
        """See `StepType.run`."""
        del job
        return done()


GROUP = "ralph_tui.steps"
"""The entry points of packages that bring types of steps."""

_OWN: Mapping[str, Callable[[], StepType]] = {
    COMMIT: CommitStep,
    AGENT: AgentStep,
    COMMAND: CommandStep,
    README: ReadmeStep,
    NOOP: NoopStep,
}


def step_types(steps: Mapping[str, StepSettings]) -> Mapping[str, StepType]:
    """Make the type of every step that may run, by the step's name.

    Raises:
        ConfigError: There is no such type, or its package cannot be loaded.
    """
    return {
        name: _made(name, step.type)
        for name, step in steps.items()
        if step.enabled and step.type != WORK
    }


def _made(step: str, kind: str) -> StepType:
    if kind in _OWN:
        return _OWN[kind]()
    found = tuple(entry_points(group=GROUP, name=kind))
    if not found:
        others = sorted({point.name for point in entry_points(group=GROUP)})
        known = ", ".join((*(name for name in BUILT_IN if name != WORK), *others))
        raise ConfigError(
            f"steps.{step}: there is no type of step {one_line(kind, 60)!r}.",
            f"Known: {known}. Others come with packages that are installed beside ralph (docs/steps.md).",
        )
    return _loaded(step, found[0])


def _loaded(step: str, point: EntryPoint) -> StepType:
    """Load the type of a package and make one.

    Raises:
        ConfigError: It cannot be imported or made, or is no type of step.
    """
    package = point.dist.name if point.dist is not None else point.value
    hint = f"Repair or remove the package {package}, or set steps.{step}.enabled to false."
    try:
        made = point.load()()
    except (Exception, SystemExit) as error:
        why = one_line(f"{type(error).__name__}: {error}", 200)
        raise ConfigError(
            f"steps.{step}: the type {point.name} of {package} cannot be loaded: {why}.", hint
        ) from error
    if not iscoroutinefunction(getattr(made, "run", None)):
        raise ConfigError(
            f"steps.{step}: the type {point.name} of {package} has no `async def run(self, job)`.",
            hint,
        )
    found: StepType = made
    return found
