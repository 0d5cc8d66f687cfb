"""Define the settings of a project: names, types, ranges, defaults and descriptions.

The descriptions appear in the file that `ralph init` writes, in docs/settings.md and in the JSON Schema.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ralph_tui.config.step_settings import COMMIT, Steps, StepSettings, default_steps
from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.documents.extensions import McpServers
from ralph_tui.domain.features import is_specs_folder
from ralph_tui.domain.git_commands import EVERY_READING, GIT_READ_ONLY
from ralph_tui.domain.verification.check_commands import SandboxExceptions
from ralph_tui.domain.verification.review import ReviewPolicy

INTERRUPT_PERCENT = 80
"""Context usage at which a turn is always interrupted. Both thresholds must be lower."""

WEEK_MINUTES = 10_080

DETECTED = "detected"
"""The value of a command that ralph finds in the project's files."""

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Percent = Annotated[int, Field(ge=1, lt=INTERRUPT_PERCENT)]


def _require_text(value: str) -> str:
    try:
        is_data = isinstance(json.loads(value), dict | list)
    except ValueError:
        return value
    if is_data:
        msg = f"must be text, not the JSON {value}"
        raise ValueError(msg)
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_require_text)]


def _require_one_line(value: str) -> str:
    if value.strip() != value or not value.isprintable():
        msg = "must be on one line, without spaces around it"
        raise ValueError(msg)
    return value


def _require_read_only_git(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in (EVERY_READING, *GIT_READ_ONLY):
            msg = (
                f"may hold only git commands that can be used for reading, such as status, log or"
                f" branch, or {EVERY_READING!r}; not {name!r}"
            )
            raise ValueError(msg)
    return names


def _detected_as_list(value: object) -> object:
    return (value,) if value == DETECTED else value


def _require_specs_folder(text: str) -> str:
    if not is_specs_folder(text):
        msg = f"must be a directory inside the project, such as specs or docs/ralph, not {text!r}"
        raise ValueError(msg)
    return text


class ProjectSettings(Model):
    """The project's name, Python version and folder of specs."""

    name: str = Field("", description="Name in the header. Empty: the name of the directory.")
    python_version: str = Field(
        "", description="Python version that `ralph init` asks uv for. Empty: uv decides."
    )
    specs: Annotated[str, AfterValidator(_require_specs_folder)] = Field(
        "specs",
        description="Directory where discovery writes the specs. Can be set only in .ralph/config.yaml.",
    )


_NO_COMMANDS = frozenset({"none", "null", "off", "no", "false", "-"})


def _require_command(text: str) -> str:
    if text.strip().lower() in _NO_COMMANDS or text.strip().replace(".", "").isdigit():
        msg = f"takes a command, and {text!r} is not one; a check that always passes is `true`"
        raise ValueError(msg)
    return text


Command = Annotated[Text, AfterValidator(_require_command)]


class BuildSettings(Model):
    """The commands that `ralph test`, `ralph lint` and `ralph typecheck` run."""

    test_command: Command = Field(
        DETECTED,
        description="Command that runs the tests. `detected`: found in the project's files, shown by `ralph doctor`.",
    )
    lint_command: Command = Field(
        DETECTED, description="Command that runs the linter, or `detected`."
    )
    typecheck_command: Command = Field(
        DETECTED, description="Command that runs the type checker, or `detected`."
    )


class PhaseExtras(Model):
    """What you add to a phase, and which of its tools you remove."""

    mcp_servers: McpServers = Field(
        default_factory=dict,
        description="Additional MCP servers for this phase, by name. Write secrets in env and headers as ${NAME}.",
    )
    skills: tuple[Text, ...] = Field(
        (), description="Additional skills for this phase: directories that contain a SKILL.md."
    )
    without_tools: tuple[Text, ...] = Field(
        (),
        description="Built-in tools that the agent may not use in this phase, such as WebSearch.",
    )


class DiscoverySettings(PhaseExtras):
    """The discovery phase."""

    human_in_loop: bool = Field(default=True, description="Ask you questions during discovery.")
    max_questions: Positive = Field(10, description="Maximum number of questions during discovery.")


class PlanningSettings(PhaseExtras):
    """The planning phase."""

    task_size_tokens: Positive = Field(30_000, description="Target size of a task, in tokens.")
    dependency_analysis: bool = Field(
        default=True,
        description="Plan dependencies between tasks. If false, only priorities order the tasks.",
    )


class BuildingSettings(PhaseExtras):
    """The building phase."""

    max_iterations: Positive = Field(100, description="Maximum number of iterations in one run.")
    backpressure: Annotated[
        tuple[Command, ...],
        BeforeValidator(
            _detected_as_list, json_schema_input_type=tuple[Command, ...] | Literal["detected"]
        ),
    ] = Field(
        (DETECTED,),
        description=(
            "Checks that must pass before the gate accepts a task: shell commands, tests, typecheck, lint,"
            " format_check, all, or `detected` for the tests, type checker and linter found in the project."
        ),
    )
    allow_unverified: bool = Field(
        default=False,
        description="Build tasks that no check can verify, and complete them as unverified.",
    )
    baseline: bool = Field(
        default=True,
        description="Run the project's checks once before the first task. A check that already fails then does not "
        "block a task that passes a check of its own, unless the failing check gets worse.",
    )
    recheck_finished: bool = Field(
        default=True,
        description="Rerun the checks of completed tasks at the end of a run and before validation.",
    )
    review: ReviewPolicy = Field(
        "needed",
        description=(
            "When a second, read-only session reviews a claim: off (never; what no command shows waits for you),"
            " needed (only for what no command shows) or always."
        ),
    )
    promise: Annotated[str, Field(max_length=200), AfterValidator(_require_one_line)] = Field(
        "<promise>COMPLETE</promise>",
        description=(
            "Line with which the model can end its last message to claim that the task is complete. The checks"
            " still decide. Empty: off."
        ),
    )
    gate_timeout_seconds: Seconds = Field(
        600, description="Timeout of each command that the gate runs, in seconds."
    )
    iteration_timeout_seconds: Seconds = Field(
        900, description="Timeout of an iteration, in seconds."
    )


class ValidationSettings(PhaseExtras):
    """The validation phase."""

    require_human_approval: bool = Field(
        default=True, description="Ask for your approval before the plan counts as complete."
    )
    max_rounds: Positive = Field(
        2, description="Maximum number of rounds of validation and repair."
    )


class PhasesSettings(Model):
    """The four phases."""

    discovery: DiscoverySettings = DiscoverySettings()
    planning: PlanningSettings = PlanningSettings()
    building: BuildingSettings = BuildingSettings()
    validation: ValidationSettings = ValidationSettings()


class ContextSettings(Model):
    """The size of the context window, and how much of it a session may use."""

    budget_percent: Percent = Field(
        60,
        description="Context usage, in percent, at which a session starts no more work and hands off.",
    )
    handoff_threshold_percent: Percent = Field(
        75,
        description="Context usage, in percent, at which the model is asked to wrap up. At 80 % it is interrupted.",
    )
    capacity_tokens: Annotated[int, Field(ge=1_000)] | Literal["auto"] = Field(
        200_000,
        description="Size of the context window, in tokens. auto: the size that the CLI reports.",
    )

    @model_validator(mode="after")
    def _require_order(self) -> Self:
        if self.budget_percent >= self.handoff_threshold_percent:
            msg = (
                f"budget_percent ({self.budget_percent}) must be below "
                f"handoff_threshold_percent ({self.handoff_threshold_percent})"
            )
            raise ValueError(msg)
        return self


class SafetySettings(Model):
    """What the agent may do, and how much it may spend."""

    sandbox: Literal["off", "auto", "required"] = Field(
        "auto",
        description="Use of the operating system's sandbox: off, auto (where it is available) or required.",
    )
    sandbox_domains: tuple[Text, ...] = Field(
        ("pypi.org", "files.pythonhosted.org"),
        description="Hosts that sandboxed commands may connect to.",
    )
    sandbox_exceptions: SandboxExceptions = Field(
        default_factory=dict,
        description="Sandbox exceptions for single checks, by exact command: ports, writable, sockets, network.",
    )
    sandbox_writable: tuple[Text, ...] = Field(
        (), description="Directories outside the project that sandboxed commands may write to."
    )
    check_environment: tuple[Text, ...] = Field(
        (),
        description="Variables that checks may read although their names suggest secrets, such as DJANGO_SECRET_KEY.",
    )
    blocked_commands: tuple[Command, ...] = Field(
        ("rm -rf", "docker rm", "pip install", "python -m venv"),
        description="Commands that the agent may never run. The four defaults are blocked only where the guard judges them harmful.",
    )
    ask_commands: tuple[Command, ...] = Field(
        (),
        description="Commands (such as npm publish) and tools (such as WebFetch) that need your approval each time.",
    )
    cost_limits: CostLimits = CostLimits()


class BreakerSettings(Model):
    """When the circuit breaker stops the loop. 0 disables a counter.

    Iterations on a single task block that task. The breaker opens only when they span more than one task.
    """

    max_consecutive_failures: Count = Field(
        3, description="Failed tasks in a row. A failure without a task counts as one."
    )
    max_stagnation_iterations: Count = Field(
        5,
        description="Iterations in a row without a completed task. A blocked task counts as one iteration.",
    )
    max_same_error: Count = Field(
        5,
        description="Iterations in a row with the same error. Numbers and paths in it may differ.",
    )
    max_denied: Count = Field(
        5,
        description="Iterations in a row without a completed task in which the same command is denied. 0: never.",
    )
    max_tests_only: Count = Field(3, description="Iterations that only ran or wrote tests.")
    cooldown_minutes: Annotated[float, Field(ge=0, le=WEEK_MINUTES, allow_inf_nan=False)] = Field(
        30,
        description="Minutes after which an open breaker that waits for you allows one more iteration. 0: never.",
    )


class LimitSettings(Model):
    """Limits for one task, and how a run handles usage limits and outages."""

    max_attempts_per_task: Count = Field(
        3, description="Failed attempts after which a task is blocked. 0: no limit."
    )
    max_iterations_per_task: Count = Field(
        10,
        description="Iterations after which an unfinished task is blocked, including hand-offs. 0: no limit.",
    )
    on_usage_limit: Literal["wait", "exit", "ask"] = Field(
        "wait",
        description="At a usage limit: wait (until it resets), exit (with status 2) or ask (you decide; without a person the run exits).",
    )
    ask_timeout_seconds: Annotated[
        float, Field(ge=0, le=WEEK_MINUTES * 60, allow_inf_nan=False)
    ] = Field(
        0,
        description=(
            "Timeout for your answer, in seconds. The run then ends with status 4, or with 2 at a usage limit."
            " 0: no timeout."
        ),
    )
    rate_limit_per_hour: Count = Field(
        0,
        description="Maximum number of model requests per hour. The loop waits when it is reached. 0: no limit.",
    )
    stop_at_allowance_percent: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        description="Stop with status 2 when this percentage of the 5-hour or weekly quota is used. 0: never.",
    )
    max_wait_minutes: Seconds = Field(
        360,
        description="Maximum wait for a usage limit to reset, in minutes. A run that would have to wait longer ends.",
    )
    fallback_wait_minutes: Seconds = Field(
        30, description="Minutes to wait at a usage limit when the reset time is unknown."
    )
    backoff_seconds: Seconds = Field(
        15,
        description="Seconds to wait before a retry when the service is busy or the network is down. Doubles with each retry.",
    )
    max_outage_minutes: Annotated[float, Field(ge=0, le=WEEK_MINUTES, allow_inf_nan=False)] = Field(
        120,
        description="Maximum outage of the API or the network, in minutes. If it lasts longer, the run ends with status 3.",
    )


def _require_known_placeholders(value: str) -> str:
    for name in re.findall(r"\{([^{}]*)\}", value):
        if name not in MESSAGE_PARTS:
            known = ", ".join(f"{{{one}}}" for one in MESSAGE_PARTS)
            msg = f"may use {known}; not {{{name}}}"
            raise ValueError(msg)
    return value


MESSAGE_PARTS = ("task.id", "task.title", "task.group", "iteration")
"""The placeholders of a commit message."""


class GitSettings(Model):
    """Which git commands the agent may run, and what ralph itself commits."""

    allowed_operations: Annotated[tuple[str, ...], AfterValidator(_require_read_only_git)] = Field(
        (EVERY_READING,),
        description="Git commands that the agent may run in their read-only forms, such as `log`, or `all`.",
    )
    branch: Literal["off", "feature"] = Field(
        "off",
        description="feature: check out a branch for the plan before work begins. off: stay on the current branch.",
    )
    branch_prefix: str = Field(
        "feature/", description="Prefix of that branch's name, as in feature/habit-tracker."
    )
    commit: Literal["off", "task", "feature"] = Field(
        "off",
        description="What ralph commits: off (nothing), task (each verified task) or feature (everything, once at the end).",
    )
    message: Annotated[Text, AfterValidator(_require_known_placeholders)] = Field(
        "feat: {task.id} - {task.title}",
        description="Commit message of a task. It may use {task.id}, {task.title}, {task.group} and {iteration}.",
    )
    trailers: bool = Field(
        default=True,
        description="Add the trailers Ralph-Task, Ralph-Iteration and Ralph-Run to each commit message.",
    )
    hooks: Literal["run", "skip"] = Field(
        "run",
        description="run: run the repository's commit hooks in the sandbox before each commit. skip: do not run them.",
    )
    protected_branches: tuple[Text, ...] = Field(
        ("main", "master", "develop", "trunk"),
        description="Branches that ralph never commits to. Set `git.branch: feature` to work on a separate branch.",
    )

    @property
    def commands(self) -> tuple[str, ...]:
        return (
            GIT_READ_ONLY if EVERY_READING in self.allowed_operations else self.allowed_operations
        )


NotifyEvent = Literal["waiting", "stopped", "done", "failed"]
"""An event that can send a notification."""

HAPPENINGS: tuple[NotifyEvent, ...] = ("waiting", "stopped", "done", "failed")


class NotifySettings(Model):
    """Notifications for a person who is away."""

    on: tuple[NotifyEvent, ...] = Field(
        HAPPENINGS,
        description="Events that send a notification: waiting (for you), stopped, done, failed. See docs/run-options.md.",
    )
    commands: tuple[Command, ...] = Field(
        (),
        description="Shell commands that receive the notification as JSON on standard input. They run in the sandbox, for at most 30 s.",
    )


class ModelSettings(Model):
    """Which models do the work."""

    primary: Text = Field("sonnet", description="Model for building and validation.")
    planning: Text = Field("opus", description="Model for discovery and planning.")
    review: str = Field("", description="Model for reviewing claims. Empty: the primary model.")


class AgentSettings(Model):
    """How ralph runs the Claude Code CLI."""

    setting_sources: tuple[Literal["user", "project", "local"], ...] = Field(
        (),
        description="Claude Code settings to load: user, project, local. None by default, because they can run hooks.",
    )
    max_api_retries: Count = Field(
        10, description="Maximum number of retries by the CLI when the API is overloaded."
    )
    idle_timeout_seconds: Seconds = Field(
        300,
        description="Seconds without output after which the CLI is considered stuck and the turn ends.",
    )
    max_turns: Positive = Field(
        200, description="Maximum number of model responses in one iteration."
    )
    standby_session: bool = Field(
        default=True,
        description="Start each session early, while its prompt is built or the gate checks the previous task.",
    )


class ArchiveSettings(Model):
    """What ralph does with a finished plan."""

    on_completion: bool = Field(
        default=True,
        description="Copy a finished plan to .ralph/archive, with its specs, log and report.",
    )


class ScreenSettings(Model):
    """The theme, notifications and keys of the screen."""

    theme: Text = Field(
        "ralph-dark",
        description="Color theme: ralph-dark, ralph-light, or another theme in the command palette.",
    )
    notifications: Literal["never", "blur", "always"] = Field(
        "blur",
        description="Desktop notification when ralph needs you or ends: never, blur (while another window has the focus) or always.",
    )
    keys: Mapping[str, str] = Field(
        default_factory=dict,
        description="Your own key bindings, such as {pause: space, skip: 'z,f5'}. docs/keys.md lists the command names.",
    )


class Settings(Model):
    """Every setting of a project."""

    project: ProjectSettings = ProjectSettings()
    build: BuildSettings = BuildSettings()
    phases: PhasesSettings = PhasesSettings()
    context: ContextSettings = ContextSettings()
    safety: SafetySettings = SafetySettings()
    circuit_breaker: BreakerSettings = BreakerSettings()
    limits: LimitSettings = LimitSettings()
    git: GitSettings = GitSettings()
    steps: Steps = Field(
        default_factory=dict,
        description=(
            "Steps before and after the work on a task, in order, such as"
            " {work: {}, docs: {type: command, run: make docs}}. Empty: work and commit. See docs/steps.md."
        ),
    )
    exports: tuple[Literal["run_state.json", "aggregate.json"], ...] = Field(
        (),
        description="Files for other tools that each run keeps up to date in .ralph: run_state.json, aggregate.json.",
    )
    archive: ArchiveSettings = ArchiveSettings()
    notify: NotifySettings = NotifySettings()
    models: ModelSettings = ModelSettings()
    agent: AgentSettings = AgentSettings()
    screen: ScreenSettings = ScreenSettings()

    @property
    def steps_in_order(self) -> Mapping[str, StepSettings]:
        """The steps by name, in order. A commit step is added when `git.commit` is `task` and none is listed."""
        commits = any(step.type == COMMIT for step in self.steps.values())
        if self.steps and not commits and self.git.commit == "task":
            return {**self.steps, COMMIT: default_steps()["commit"]}
        return self.steps or default_steps()
