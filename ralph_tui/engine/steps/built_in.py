"""Ralph's own types of steps but the agent: command, git-commit, readme-check and noop."""

import asyncio

from ralph_tui.engine.steps.step_type import (
    StepJob,
    StepResult,
    done,
    failed,
    skipped,
)
from ralph_tui.store.text_files import inside

README = "README.md"


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
        name = job.settings.path or README
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
