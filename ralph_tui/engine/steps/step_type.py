"""Define the interface of a step type, for ralph's own types and those of installed packages.

A package registers a class in the entry point group `ralph_tui.steps`; its name there is the step's `type`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ralph_tui.config.step_settings import StepSettings
from ralph_tui.domain.base import Amount, Count, Model
from ralph_tui.domain.costs import Money
from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import Failure


class StepResult(Model):
    """How one attempt at a step ended."""

    outcome: StepOutcome
    reason: str = ""
    """The reason for the outcome, as a clause; for a successful step, what it did."""
    exit_code: int | None = None
    tail: str = ""
    sandboxed: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    seconds: Amount = 0.0
    failure: Failure | None = None
    """A failure of the model, the network or the CLI, if there was one."""
    end: End | None = None
    """Why the run must end, if more than this step cannot continue."""


def done(reason: str = "") -> StepResult:
    return StepResult(outcome=StepOutcome.DONE, reason=reason)


def failed(reason: str, *, tail: str = "") -> StepResult:
    return StepResult(outcome=StepOutcome.FAILED, reason=reason, tail=tail)


def skipped(reason: str) -> StepResult:
    return StepResult(outcome=StepOutcome.SKIPPED, reason=reason)


@dataclass(frozen=True)
class StepJob:
    """One attempt at one step.

    Attributes:
        iteration: The number of the iteration around which the step runs.
        task: The task of that iteration; None at the end of a run.
        run: The run's context, for ralph's own types.
        stoppable: Whether a requested stop or pause after the iteration also applies to the step, as it does
            before the work.
    """

    name: str
    settings: StepSettings
    iteration: int
    task: Task | None
    run: RunContext
    stoppable: bool = True

    @property
    def task_id(self) -> str:
        return self.task.id if self.task else ""

    @property
    def root(self) -> Path:
        return self.run.project.root

    @property
    def options(self) -> Mapping[str, object]:
        return self.settings.options

    def say(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        self.run.emit(Notice(level=level, text=text))

    async def command(self, text: str) -> StepResult:
        """Run a shell command in the project, in the sandbox and with the step's time limit."""
        seconds = self.settings.timeout_seconds
        result, sandboxed = await self.run.gate.run_step_command(text, seconds=seconds)
        ended = {"exit_code": result.exit_code, "tail": result.tail, "sandboxed": sandboxed}
        if result.exit_code == 0:
            return done().model_copy(update=ended)
        code = result.exit_code
        reason = f"timed out after {duration(seconds)}" if code is None else f"exit status {code}"
        return failed(reason).model_copy(update=ended)


class StepType(Protocol):
    """A type of step. Each run creates a new instance, without arguments."""

    async def run(self, job: StepJob) -> StepResult:
        """Do the step's work; an exception fails the step.

        Await slow work (`asyncio.to_thread`), because it blocks the loop and the screen otherwise. The call is
        canceled if the person stops or pauses the loop immediately, and when its time limit is reached.
        """
        ...


RunStep = Callable[[StepJob], Awaitable[StepResult]]
