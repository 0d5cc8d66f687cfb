"""What a type of step is: the door for ralph's own types and for those of installed packages.

A package registers a class under the entry point group `ralph_tui.steps`; its name there is the step's `type`.
"""

from collections.abc import Mapping
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
from ralph_tui.engine.context import RunContext, SpecFor
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.limits.run_limits import RunLimits


class StepResult(Model):
    """How one attempt at a step ended."""

    outcome: StepOutcome
    reason: str = ""
    """Why, as a clause; of a step that is done, what it did."""
    exit_code: int | None = None
    tail: str = ""
    """The end of what it printed."""
    sandboxed: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    seconds: Amount = 0.0
    failure: Failure | None = None
    """What the model, the network or the CLI failed at, where waiting may help."""
    end: End | None = None
    """Why the run ends, where it is not only this step that cannot continue."""


def done(reason: str = "") -> StepResult:
    """Return the result of a step that did its work."""
    return StepResult(outcome=StepOutcome.DONE, reason=reason)


def failed(reason: str, *, tail: str = "") -> StepResult:
    """Return the result of a step that failed, with the end of what it printed."""
    return StepResult(outcome=StepOutcome.FAILED, reason=reason, tail=tail)


def skipped(reason: str) -> StepResult:
    """Return the result of a step that has nothing to do."""
    return StepResult(outcome=StepOutcome.SKIPPED, reason=reason)


@dataclass(frozen=True)
class StepJob:
    """One attempt at one step.

    Attributes:
        name: The step's name in the settings.
        settings: The step's settings.
        iteration: The number of the iteration that it is before or after.
        task: The task of that iteration; None at the end of a run.
        run: The parts of the run, for ralph's own types.
        run_limits: The limits of the run, for ralph's own types.
        spec_for: Makes the spec of a session, for ralph's own types.
    """

    name: str
    settings: StepSettings
    iteration: int
    task: Task | None
    run: RunContext
    run_limits: RunLimits
    spec_for: SpecFor

    @property
    def root(self) -> Path:
        """The project's directory."""
        return self.run.project.root

    @property
    def options(self) -> Mapping[str, object]:
        """What the settings give the step under `options`; every value is text, a list or a mapping."""
        return self.settings.options

    def say(self, text: str, level: Literal["info", "warning", "error"] = "info") -> None:
        """Tell the person something, in one sentence."""
        self.run.emit(Notice(level=level, text=text))

    async def command(self, text: str) -> StepResult:
        """Run a shell command in the project, in the sandbox and within the step's time."""
        seconds = self.settings.timeout_seconds
        result, sandboxed = await self.run.gate.run_beside(text, seconds=seconds)
        ended = {"exit_code": result.exit_code, "tail": result.tail, "sandboxed": sandboxed}
        if result.exit_code == 0:
            return done().model_copy(update=ended)
        code = result.exit_code
        reason = f"no end after {duration(seconds)}" if code is None else f"exit status {code}"
        return failed(reason).model_copy(update=ended)


class StepType(Protocol):
    """A type of step. A new one is made for each run, without arguments."""

    async def run(self, job: StepJob) -> StepResult:
        """Do the step's work; what is raised here fails the step.

        Await whatever takes long (`asyncio.to_thread`), because the loop and the screen wait meanwhile. The
        call is cancelled when the person stops or pauses the loop at once, and when its time is up.
        """
        ...
