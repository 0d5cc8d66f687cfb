"""The settings of a project: names, types, ranges and defaults, each in one place.

The descriptions are what `ralph init` writes into the template and what the table in docs/settings.md shows.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ralph_tui.config.step_settings import COMMIT, Steps, StepSettings, usual_steps
from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.documents.extensions import McpServers
from ralph_tui.domain.git_commands import EVERY_READING, GIT_READ_ONLY
from ralph_tui.domain.verification.check_commands import SandboxExceptions
from ralph_tui.domain.verification.review import ReviewPolicy
from ralph_tui.domain.web_addresses import why_not_written

INTERRUPT_PERCENT = 80
"""The turn is interrupted here whatever the settings say; both thresholds stay below it."""

WEEK_MINUTES = 10_080

DETECTED = "detected"
"""The value of a command that is not set: what the project's own files show."""

Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Percent = Annotated[int, Field(ge=1, lt=INTERRUPT_PERCENT)]
Text = Annotated[str, Field(min_length=1)]


def _on_one_line(value: str) -> str:
    if value.strip() != value or not value.isprintable():
        msg = "must be on one line, without spaces around it"
        raise ValueError(msg)
    return value


def _read_only_git(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in (EVERY_READING, *GIT_READ_ONLY):
            msg = (
                f"may hold only git commands that can be used for reading, such as status, log or"
                f" branch, or {EVERY_READING!r}; not {name!r}"
            )
            raise ValueError(msg)
    return names


def _one_word_as_a_list(value: object) -> object:
    """Let `detected` stand without brackets."""
    return (value,) if value == DETECTED else value


class ProjectSettings(Model):
    """What the project is called and which Python it gets."""

    name: str = Field("", description="Name in the header. Empty: the name of the directory.")
    python_version: str = Field(
        "", description="Python version that `ralph init` asks uv for. Empty: uv decides."
    )


class BuildSettings(Model):
    """The commands that check the project; `ralph test`, `ralph lint` and `ralph typecheck` run them."""

    test_command: Text = Field(
        DETECTED,
        description="Command that runs the tests. `detected`: the one that the project's files show, see `ralph doctor`.",
    )
    lint_command: Text = Field(DETECTED, description="Command that runs the linter, or `detected`.")
    typecheck_command: Text = Field(
        DETECTED, description="Command that runs the type checker, or `detected`."
    )


class PhaseExtras(Model):
    """What a person adds to a phase beside its own tools."""

    mcp_servers: McpServers = Field(
        default_factory=dict,
        description="Extra MCP servers of this phase by name. Write secrets in env and headers as ${NAME}.",
    )
    skills: tuple[Text, ...] = Field(
        (), description="Extra skills of this phase: directories that hold a SKILL.md."
    )
    without_tools: tuple[Text, ...] = Field(
        (),
        description="Built-in tools that this phase may not use, such as WebSearch.",
    )


class DiscoverySettings(PhaseExtras):
    """The discovery phase."""

    human_in_loop: bool = Field(default=True, description="Ask you questions during discovery.")
    max_questions: Positive = Field(10, description="Maximum number of questions in one discovery.")


class PlanningSettings(PhaseExtras):
    """The planning phase."""

    task_size_tokens: Positive = Field(30_000, description="Target size of a task in tokens.")
    dependency_analysis: bool = Field(
        default=True,
        description="Plan dependencies between tasks. Without them, only priorities order the tasks.",
    )


class BuildingSettings(PhaseExtras):
    """The building phase."""

    max_iterations: Positive = Field(100, description="Maximum number of iterations in one run.")
    backpressure: Annotated[
        tuple[Text, ...],
        BeforeValidator(
            _one_word_as_a_list, json_schema_input_type=tuple[Text, ...] | Literal["detected"]
        ),
    ] = Field(
        (DETECTED,),
        description=(
            "Checks that the gate runs before it accepts a task: shell commands, tests, typecheck, lint,"
            " format_check, all, or `detected` for the tests, types and lint that were found."
        ),
    )
    allow_unverified: bool = Field(
        default=False,
        description="Build tasks that no check can verify. They complete as unverified.",
    )
    baseline: bool = Field(
        default=True,
        description="Run the project's checks once before the first task. A check that fails then blocks no task "
        "that has a passing check of its own, unless the check gets worse.",
    )
    recheck_finished: bool = Field(
        default=True,
        description="Run the checks of completed tasks again at the end of a run and before validation.",
    )
    review: ReviewPolicy = Field(
        "prose",
        description=(
            "When a second, read-only session reviews a claim: off, prose (only criteria without a command)"
            " or always."
        ),
    )
    promise: Annotated[str, Field(max_length=200), AfterValidator(_on_one_line)] = Field(
        "<promise>COMPLETE</promise>",
        description=(
            "Line with which the model can claim a task as complete at the end of its last message. The checks"
            " decide as usual. Empty: off."
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
        default=True, description="Ask for your approval before the plan counts as done."
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
    """How full the context window may get."""

    budget_percent: Percent = Field(
        60,
        description="Fill level of the context, in percent, from which a session starts no more work and hands off.",
    )
    handoff_threshold_percent: Percent = Field(
        75,
        description="Fill level, in percent, at which the model is asked to wrap up. At 80 it is interrupted.",
    )
    capacity_tokens: Annotated[int, Field(ge=1_000)] | Literal["auto"] = Field(
        200_000, description="Size of the context window in tokens. auto: as the CLI reports it."
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.budget_percent >= self.handoff_threshold_percent:
            msg = (
                f"budget_percent ({self.budget_percent}) must be below "
                f"handoff_threshold_percent ({self.handoff_threshold_percent})"
            )
            raise ValueError(msg)
        return self


class SafetySettings(Model):
    """What an agent may not do, and what it may spend."""

    sandbox: Literal["off", "auto", "required"] = Field(
        "auto",
        description="Sandbox of the operating system: off, auto (used where it works) or required.",
    )
    sandbox_domains: tuple[Text, ...] = Field(
        ("pypi.org", "files.pythonhosted.org"),
        description="Hosts that commands in the sandbox may reach.",
    )
    sandbox_exceptions: SandboxExceptions = Field(
        default_factory=dict,
        description="What a check may use outside the sandbox, by its exact command: ports, writable, sockets, network.",
    )
    sandbox_writable: tuple[Text, ...] = Field(
        (), description="Directories outside the project that commands in the sandbox may write to."
    )
    blocked_commands: tuple[Text, ...] = Field(
        ("rm -rf", "docker rm", "pip install", "python -m venv"),
        description="Commands that an agent may never run. The four defaults are blocked only where the guard finds them harmful.",
    )
    ask_commands: tuple[Text, ...] = Field(
        (),
        description="Commands, such as npm publish, and tools, such as WebFetch, that need your approval each time.",
    )
    cost_limits: CostLimits = CostLimits()


class BreakerSettings(Model):
    """When the circuit breaker stops the loop; 0 switches a counter off.

    A count of iterations opens it only when they are of more than one task; else it blocks that task.
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
    max_denied: Count = Field(5, description="Iterations in which the same command is denied.")
    max_collapses: Count = Field(
        3, description="Iterations with at least 70 % less output than usual."
    )
    max_tests_only: Count = Field(3, description="Iterations that only ran or wrote tests.")
    max_refused_claims: Count = Field(
        3, description="Tasks in a row whose claims the checks reject."
    )
    cooldown_minutes: Annotated[float, Field(ge=0, le=WEEK_MINUTES, allow_inf_nan=False)] = Field(
        30,
        description="Minutes after which an open breaker that waits for you allows one more iteration. 0: never.",
    )


class LimitSettings(Model):
    """How much goes into one task, and what happens at a usage limit and when the service is busy."""

    max_attempts_per_task: Count = Field(
        3, description="Failed attempts after which a task is blocked. 0: no limit."
    )
    max_iterations_per_task: Count = Field(
        10,
        description="Iterations after which an unfinished task is blocked, including hand-offs. 0: no limit.",
    )
    on_usage_limit: Literal["wait", "exit", "ask"] = Field(
        "wait",
        description="At a usage limit: wait until it resets, exit with status 2, or ask you (and exit when nobody is there).",
    )
    ask_timeout_seconds: Annotated[
        float, Field(ge=0, le=WEEK_MINUTES * 60, allow_inf_nan=False)
    ] = Field(
        0,
        description=(
            "Seconds that a run waits for your answer before it ends with status 4, or with 2 at a usage limit."
            " 0: no limit."
        ),
    )
    rate_limit_per_hour: Count = Field(
        0,
        description="Maximum number of model requests in an hour. Then the loop waits. 0: no limit.",
    )
    stop_at_allowance_percent: Annotated[int, Field(ge=0, le=100)] = Field(
        0,
        description="Stop with status 2 at this percentage of the 5-hour or weekly allowance. 0: never.",
    )
    max_wait_minutes: Seconds = Field(
        360,
        description="Maximum wait for a usage limit, in minutes. A run that would wait longer ends.",
    )
    fallback_wait_minutes: Seconds = Field(
        30, description="Minutes to wait at a limit without a known reset time."
    )
    backoff_seconds: Seconds = Field(
        15,
        description="Seconds to wait when the service is busy or the network is lost. Doubles each time.",
    )
    max_outage_minutes: Annotated[float, Field(ge=0, le=WEEK_MINUTES, allow_inf_nan=False)] = Field(
        120,
        description="Maximum outage of the API or the network, in minutes. After that the run ends with status 3.",
    )


def _known_placeholders(value: str) -> str:
    for name in re.findall(r"\{([^{}]*)\}", value):
        if name not in MESSAGE_PARTS:
            known = ", ".join(f"{{{one}}}" for one in MESSAGE_PARTS)
            msg = f"may use {known}; not {{{name}}}"
            raise ValueError(msg)
    return value


MESSAGE_PARTS = ("task.id", "task.title", "task.group", "iteration")
"""What a commit message can name."""


class GitSettings(Model):
    """What an agent may ask git, and what ralph itself commits."""

    allowed_operations: Annotated[tuple[str, ...], AfterValidator(_read_only_git)] = Field(
        (EVERY_READING,),
        description="Git commands that an agent may run in forms that only read, such as `log`, or `all`.",
    )
    branch: Literal["off", "feature"] = Field(
        "off",
        description="feature: check out a branch for the plan before any work. off: stay on the current branch.",
    )
    branch_prefix: str = Field(
        "feature/", description="Prefix of that branch, as in feature/habit-tracker."
    )
    commit: Literal["off", "task", "feature"] = Field(
        "off",
        description="What ralph commits: off, task (each verified task) or feature (everything, once at the end).",
    )
    message: Annotated[Text, AfterValidator(_known_placeholders)] = Field(
        "feat: {task.id} - {task.title}",
        description="Message of a task's commit. It may use {task.id}, {task.title}, {task.group} and {iteration}.",
    )
    trailers: bool = Field(
        default=True,
        description="End each message with the trailers Ralph-Task, Ralph-Iteration and Ralph-Run.",
    )
    hooks: Literal["run", "skip"] = Field(
        "run",
        description="run: run the repository's commit hooks in the sandbox before each commit. skip: run none.",
    )
    protected_branches: tuple[Text, ...] = Field(
        ("main", "master", "develop", "trunk"),
        description="Branches that ralph never commits to. Use `git.branch: feature` to work beside them.",
    )

    @property
    def commands(self) -> tuple[str, ...]:
        """The subcommands that are meant."""
        return (
            GIT_READ_ONLY if EVERY_READING in self.allowed_operations else self.allowed_operations
        )


Happening = Literal["waiting", "stopped", "done", "failed"]
"""What somebody can be told about who is not there."""

HAPPENINGS: tuple[Happening, ...] = ("waiting", "stopped", "done", "failed")


def _postable(value: str) -> str:
    """Refuse an address that nothing would be posted to; variables in it are filled in when a run starts."""
    if reason := why_not_written(value):
        raise ValueError(reason)
    return value


class NotifySettings(Model):
    """Notifications for a person who is not there."""

    on: tuple[Happening, ...] = Field(
        HAPPENINGS,
        description="Events that send a notification: waiting (for you), stopped, done, failed. See docs/run-options.md.",
    )
    commands: tuple[Text, ...] = Field(
        (),
        description="Shell commands that get the notification as JSON on standard input. They run in the sandbox for at most 30 s.",
    )
    webhook: Annotated[str, AfterValidator(_postable)] = Field(
        "",
        description="URL that gets the same JSON in a POST request: https, or http to this machine. Write secrets as ${NAME}.",
    )


class ModelSettings(Model):
    """Which models work."""

    primary: Text = Field("sonnet", description="Model for building and validation.")
    planning: Text = Field("opus", description="Model for discovery and planning.")
    review: str = Field("", description="Model for reviews of claims. Empty: the primary model.")


class AgentSettings(Model):
    """How the Claude Code CLI is driven."""

    setting_sources: tuple[Literal["user", "project", "local"], ...] = Field(
        (),
        description="Claude settings files to load. None by default, because they can run hooks.",
    )
    include_claude_md: bool = Field(
        default=True, description="Put the project's CLAUDE.md into the prompt."
    )
    max_api_retries: Count = Field(
        10, description="Number of times the CLI retries an overloaded API."
    )
    api_timeout_seconds: Seconds = Field(600, description="Timeout of an API response, in seconds.")
    idle_timeout_seconds: Seconds = Field(
        300, description="Seconds without output after which the CLI counts as stuck."
    )
    max_turns: Positive = Field(
        200, description="Maximum number of model responses in one iteration."
    )
    standby_session: bool = Field(
        default=True,
        description="Connect each session early: while its prompt is made, or the gate of the task before runs.",
    )


class ArchiveSettings(Model):
    """What happens to a finished plan."""

    on_completion: bool = Field(
        default=True,
        description="Copy a finished plan with its specs, log and report to .ralph/archive.",
    )


class ScreenSettings(Model):
    """How the screen looks and calls."""

    theme: Text = Field(
        "ralph-dark", description="ralph-dark, ralph-light, or another theme of the palette."
    )
    notifications: Literal["never", "blur", "always"] = Field(
        "blur",
        description="Desktop notification when ralph waits for you or ends: never, blur (while you are in another window) or always.",
    )
    keys: Mapping[str, str] = Field(
        default_factory=dict,
        description="Your own keys for commands, such as {pause: space, skip: 'z,f5'}. docs/keys.md has the names.",
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
            "Steps around the work, in order, such as {work: {}, docs: {type: command, run: make docs}}."
            " Empty: work and commit. See docs/steps.md."
        ),
    )
    exports: tuple[Literal["prd.json", "run_state.json", "aggregate.json"], ...] = Field(
        (),
        description="Files for other tools that each run keeps current in .ralph: prd.json, run_state.json, aggregate.json.",
    )
    archive: ArchiveSettings = ArchiveSettings()
    notify: NotifySettings = NotifySettings()
    models: ModelSettings = ModelSettings()
    agent: AgentSettings = AgentSettings()
    screen: ScreenSettings = ScreenSettings()

    @property
    def steps_in_order(self) -> Mapping[str, StepSettings]:
        """The steps by name, in their order; where tasks are committed, a commit is one of them."""
        commits = any(step.type == COMMIT for step in self.steps.values())
        if self.steps and not commits and self.git.commit == "task":
            return {**self.steps, COMMIT: usual_steps()["commit"]}
        return self.steps or usual_steps()
