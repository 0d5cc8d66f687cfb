"""Define the settings of steps: `steps:` in the settings file."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ralph_tui.domain.base import Model
from ralph_tui.domain.run.steps import StepWhen

WORK = "work"
"""The one required step: a task is chosen, worked on in a session, claimed and verified."""

AGENT, COMMAND, COMMIT, README, NOOP = "agent", "command", "git-commit", "readme-check", "noop"
BUILT_IN = (WORK, AGENT, COMMAND, COMMIT, README, NOOP)
"""The types that come with ralph."""

_IMPLIED = {"work": WORK, "commit": COMMIT}
"""Step names that imply a type."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OWNER_OF = {"run": COMMAND, "prompt": AGENT, "model": AGENT, "path": README}
"""The type that each type-specific setting belongs to."""

DAY_SECONDS = 86_400
Seconds = Annotated[float, Field(gt=0, le=DAY_SECONDS, allow_inf_nan=False)]
Delay = Annotated[float, Field(ge=0, le=DAY_SECONDS, allow_inf_nan=False)]


class StepBreaker(Model):
    """When a repeatedly failing step is skipped."""

    threshold: Annotated[int, Field(ge=1)] = 3
    """Failures in a row that open the breaker."""
    reset_after_seconds: Seconds = 60
    """Seconds for which the step is skipped before one new attempt."""


class StepSettings(Model):
    """The settings of one step."""

    type: str = ""
    run: str = ""
    """The shell command of a `command` step."""
    prompt: str = ""
    """The file with the instructions of an `agent` step."""
    model: str = ""
    """The model of an `agent` step. Empty: the primary model."""
    path: str = ""
    """The file that a `readme-check` step requires. Empty: README.md."""
    options: Mapping[str, object] = Field(default_factory=dict)
    """Settings of a step type that an installed package provides."""
    when: StepWhen | None = None
    once: bool = False
    enabled: bool = True
    timeout_seconds: Seconds = 600
    retries: Annotated[int, Field(ge=0, le=20)] = 0
    retry_delay_seconds: Delay = 0
    continue_on_error: bool = False
    breaker: StepBreaker | None = None

    @property
    def runs(self) -> StepWhen:
        return self.when or (StepWhen.TASK_COMPLETE if self.type == COMMIT else StepWhen.ALWAYS)

    @property
    def what(self) -> str:
        return self.run or self.prompt or self.type

    @model_validator(mode="after")
    def _require_fitting_type(self) -> Self:
        if not self.type:  # a name may imply it
            return self
        for name, owner in _OWNER_OF.items():
            if getattr(self, name) and self.type != owner:
                raise ValueError(f"{name} belongs to steps of type {owner}, not {self.type}")
        if self.type == COMMAND and not self.run.strip():
            raise ValueError("a step of type command needs run, a shell command")
        if self.type == AGENT and not self.prompt.strip():
            raise ValueError("a step of type agent needs prompt, a file with its instructions")
        if self.options and self.type in BUILT_IN:
            raise ValueError("options belong to types that an installed package provides")
        if self.type == COMMIT and self.breaker is not None:
            raise ValueError(
                "a commit has no breaker: a task whose commit is skipped would stay uncommitted"
            )
        if self.type == WORK and self.model_fields_set != {"type"}:
            raise ValueError(
                "work has no settings here: phases.building and circuit_breaker hold them"
            )
        return self


def _with_types(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    typed: dict[object, object] = {}
    for name, step in value.items():
        typed[name] = given = {} if step in ("", None) else step
        if isinstance(given, Mapping) and not given.get("type") and name in _IMPLIED:
            typed[name] = {**given, "type": _IMPLIED[name]}
    return typed


def _require_valid_steps(steps: Mapping[str, StepSettings]) -> Mapping[str, StepSettings]:
    if not steps:
        return steps
    for name, step in steps.items():
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"cannot have a step {name!r}: use letters, digits, dots, hyphens and underscores"
            )
        if not step.type:
            known = ", ".join(kind for kind in BUILT_IN if kind != WORK)
            raise ValueError(f"must give {name!r} a type: {known}, or one of a package")
        if (name == WORK) is not (step.type == WORK):
            raise ValueError("must have one step of type work, and its name is work")
    if WORK not in steps:
        raise ValueError("must hold the step `work: {}` once: it is where the task is worked on")
    for name in before_work(steps):
        if steps[name].runs not in (StepWhen.ALWAYS, StepWhen.RUN_END):
            raise ValueError(
                f"must have {name!r} after work: it waits for how the work ends"
                f" (when: {steps[name].runs.value})"
            )
    return steps


def before_work(steps: Mapping[str, StepSettings]) -> tuple[str, ...]:
    names = tuple(steps)
    return names[: names.index(WORK)]


def after_work(steps: Mapping[str, StepSettings]) -> tuple[str, ...]:
    names = tuple(steps)
    return names[names.index(WORK) + 1 :]


Steps = Annotated[
    Mapping[str, StepSettings],
    BeforeValidator(_with_types, json_schema_input_type=Mapping[str, StepSettings | None]),
    AfterValidator(_require_valid_steps),
]
"""Steps by name, in order. Empty: the work, and a commit if the git settings enable it."""


@cache
def default_steps() -> Mapping[str, StepSettings]:
    return {name: StepSettings(type=kind) for name, kind in _IMPLIED.items()}
