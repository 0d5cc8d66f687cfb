"""Recognize the settings of two other tools and translate them, for `ralph config import`.

Wiggum (chr1sbest/wiggum) lists its steps in a JSON file, `default.json`. Ralph Hybrid (krazyuniks/ralph-hybrid)
has its own `config.yaml`, which may be at the path where ralph expects its settings.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ralph_tui.config.setting_names import known_keys
from ralph_tui.config.step_settings import AGENT, COMMAND, COMMIT, NOOP, README, WORK
from ralph_tui.domain.base import Model


class ForeignTool(StrEnum):
    """The tool whose settings a file contains. The values are shown to people."""

    WIGGUM = "steps of Wiggum"
    HYBRID = "settings of Ralph Hybrid"


Value = str | int | float | tuple[str, ...]


class UntranslatedKey(Model):
    """A setting that is not translated."""

    key: str
    line: int = 0
    """The line of the key; 0 for JSON, where the key itself is the location."""
    reason: str


@dataclass
class ForeignConfig:
    """The settings of another tool, translated."""

    form: ForeignTool
    settings: dict[str, Value] = field(default_factory=dict)
    """Values by the dotted names of ralph's settings."""
    steps: dict[str, dict[str, object]] = field(default_factory=dict)
    """Steps in the form of ralph's settings; empty when the file has none."""
    commands: dict[str, str] = field(default_factory=dict)
    """Every shell command in the file, by the key or step it comes from."""
    left_out: list[UntranslatedKey] = field(default_factory=list)
    markers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By step, the files (relative to the project) that mark it as done."""
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, source: str, reason: str, line: int = 0) -> None:
        self.left_out.append(UntranslatedKey(key=source, line=line, reason=reason))


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("it is not a whole number")
    return int(text)


def seconds(text: str) -> float:
    """Return the seconds of a duration such as `1h30m`."""
    parts = list(_PART.finditer(text))
    if "${" in text:
        raise ValueError("it holds a variable; write its value into ralph's settings")
    if not parts or "".join(part.group() for part in parts) != text.strip():
        raise ValueError("it is not a duration such as 20m or 30s")
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)


def _branch(text: str) -> str:
    return "feature" if text.lower() in ("true", "yes") else "off"


_PROFILES = "set models.planning, models.primary and models.review instead"

_HYBRID: Mapping[str, tuple[str, Callable[[str], Value]] | str] = {
    "defaults.max_iterations": ("phases.building.max_iterations", _whole),
    "defaults.timeout_minutes": (
        "phases.building.iteration_timeout_seconds",
        lambda text: _whole(text.lstrip("0")) * 60,
    ),
    "defaults.rate_limit_per_hour": ("limits.rate_limit_per_hour", _whole),
    "defaults.profile": _PROFILES,
    "defaults.prompt_template": "the prompts are ralph's; your own instructions go into PROMPT_build.md",
    "circuit_breaker.no_progress_threshold": ("circuit_breaker.max_stagnation_iterations", _whole),
    "circuit_breaker.same_error_threshold": ("circuit_breaker.max_same_error", _whole),
    "completion.consecutive_test_loops": ("circuit_breaker.max_tests_only", _whole),
    "completion.promise": ("phases.building.promise", str),
    "completion.consecutive_done_signals": "a claim is checked by the gate, however often it is made",
    "completion.custom_patterns": "only the promise is a claim; other words of the model are ignored",
    "claude.dangerously_skip_permissions": "permissions cannot be switched off: the guard judges every call",
    "claude.allowed_tools": "no tool can be added; phases.building.without_tools removes some",
    "git.branch_prefix": ("git.branch_prefix", str),
    "branch.prefix": ("git.branch_prefix", str),
    "git.auto_create_branch": ("git.branch", _branch),
    "branch.auto_create": ("git.branch", _branch),
    "archive": "finished plans are archived anyway; archive.on_completion switches that off",
    "display.theme": "ralph has other themes; choose one with screen.theme",
    "logging": "the journal always has everything",
    "hooks": "a hook is a step here: add a step of type command that runs it",
    "memory": "the memory has its own limits",
    "profiles": _PROFILES,
}
"""For a key, ralph's setting and what makes its value; or why the key, or a whole section, has no counterpart."""

_HYBRID_UNKNOWN = "neither ralph nor Ralph Hybrid documents it"
_SEVERAL = "it has more than one value"


def tool_of(value: object) -> ForeignTool | None:
    """Return whose settings a parsed file contains, or None when they are unknown."""
    if not isinstance(value, Mapping):
        return None
    steps = value.get("steps")
    if isinstance(steps, list | tuple) and any(
        isinstance(step, Mapping) and "type" in step for step in steps
    ):
        return ForeignTool.WIGGUM
    only_theirs = {key for key in _HYBRID if "." in key} - known_keys().keys()
    is_hybrid = "quality_checks" in value or any(key in only_theirs for key in _flat(value))
    return ForeignTool.HYBRID if is_hybrid else None


def _flat(value: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a file by dotted name, sections resolved."""
    found: dict[str, object] = {}
    for name, inside in value.items():
        parts = inside.items() if isinstance(inside, Mapping) else ()
        found |= {f"{name}.{part}": given for part, given in parts} if parts else {name: inside}
    return found


def translate_hybrid(value: Mapping[str, object], lines: Mapping[str, int]) -> ForeignConfig:
    made = ForeignConfig(ForeignTool.HYBRID)
    for key, given in _flat(value).items():
        section = key.partition(".")[0]
        ours = _HYBRID.get(key) or _HYBRID.get(section) or _HYBRID_UNKNOWN
        if given in ("", None):
            continue
        line = lines.get(key, 0)
        if section == "quality_checks" and isinstance(given, str):
            made.commands[key] = given.strip()
            # Ralph Hybrid leaves ${NAME} to the shell; in ralph's settings that is written $${NAME}.
            commands = tuple(each.replace("${", "$${") for each in made.commands.values())
            made.settings["phases.building.backpressure"] = commands
        elif isinstance(ours, str) and section != "quality_checks":
            made.leave_out(key, ours, line)
        elif isinstance(ours, str) or not isinstance(given, str):
            made.leave_out(key, _SEVERAL, line)
        else:
            try:
                made.settings[ours[0]] = ours[1](given)
            except ValueError as error:
                made.leave_out(key, str(error), line)
    return made


_BAD_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PLACEHOLDERS = {"task_id": "{task.id}", "task": "{task.title}"}
_MARKERS = (".ralph/.ralph_setup_done", ".ralph/.setup_done", ".ralph_setup_done")
"""The marker files that releases of Wiggum write when the setup is done."""

_WIGGUM_UNKNOWN = "neither ralph nor Wiggum documents it"

_PARTS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "timeout": ("timeout_seconds", seconds),
    "config.timeout": ("timeout_seconds", seconds),
    "max_retries": ("retries", lambda text: _whole(text) or None),
    "retry_delay": ("retry_delay_seconds", seconds),
    "continue_on_error": ("continue_on_error", lambda text: text.lower() == "true" or None),
    "enabled": ("enabled", lambda text: None if text.lower() == "true" else False),
}
"""For a part of any step, ralph's setting of a step and what makes its value; None for the default."""

_REASONS = {
    "config.prd_file": "the plan is ralph's; `ralph import` reads a prd.json",
    "config.fix_plan_file": "the plan is ralph's; `ralph import` reads a fix_plan.md",
    "config.session_file": "every session starts fresh",
    "config.session_expiry_hours": "every session starts fresh",
    "config.allowed_tools": "no tool can be added; phases.building.without_tools removes some",
    "config.claude_binary": "ralph includes its own Claude Code CLI",
    "config.output_format": "ralph reads the CLI's messages itself",
    "config.append_system_prompt": "write it into CLAUDE.md or PROMPT_build.md",
    "config.log_dir": "logs are in .ralph/logs",
    "config.repo_dir": "ralph commits in the repository of the project",
    "config.commit_message_file": "the message comes from git.message",
    "config.project_dir": "the project is where .ralph is",
    "config.patterns": "the check looks only at the README",
    "config.prompt_file": "ralph's own prompt names the task and its checks; your instructions go into PROMPT_build.md",
}
"""Why a part of a step has no counterpart."""


class _Step:
    """A step of Wiggum. `rest` has the parts that are not translated yet, those in `config` as `config.NAME`."""

    def __init__(self, made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
        self.made, self.place, self.kind = made, place, str(step["type"])
        wanted = str(step.get("name") or self.kind)
        base = _BAD_NAME.sub("-", wanted).strip("-._")[:60] or "step"
        self.name, number = f"{base}-step" if base == WORK else base, 2
        while self.name in made.steps:
            self.name, number = f"{base}-{number}", number + 1
        self.rest = {part: step[part] for part in step if part not in ("type", "name", "config")}
        if isinstance(config := step.get("config"), Mapping):
            self.rest |= {f"config.{name}": value for name, value in config.items()}

    def take(self, part: str) -> str:
        found = self.rest.pop(part, None)
        return "" if found is None or isinstance(found, Mapping | list | tuple) else str(found)

    def leave_out(self, part: str, why: str) -> None:
        self.made.leave_out(f"{self.place}.{part}", why)

    def leave_out_rest(self, of_steps: str = _WIGGUM_UNKNOWN) -> None:
        """Leave out what is left. `of_steps` says why for a part that other steps may have."""
        for part in self.rest:
            own = part in _PARTS or part == "circuit_breaker"
            self.leave_out(part, of_steps if own else _REASONS.get(part, _WIGGUM_UNKNOWN))

    def add(self, **settings: object) -> None:
        for part, (ours, translated) in _PARTS.items():
            given = self.take(part)
            if given and settings.get(ours) is not None:
                self.leave_out(part, "the timeout of the step itself applies")
            elif given:
                try:
                    settings[ours] = translated(given)
                except ValueError as error:
                    self.leave_out(part, str(error))
        if settings.get("retries"):
            settings.setdefault("retry_delay_seconds", 1.0)
        elif settings.pop("retry_delay_seconds", None) is not None:
            self.leave_out("retry_delay", "there is no retry without max_retries")
        breaker = self.rest.pop("circuit_breaker", None)
        if isinstance(breaker, Mapping):
            try:
                after = seconds(str(breaker.get("reset_after", "30s")))
                threshold = _whole(str(breaker.get("threshold")))
                settings["breaker"] = {"threshold": threshold, "reset_after_seconds": after}
            except ValueError as error:
                self.leave_out("circuit_breaker", str(error))
        chosen = {name: value for name, value in settings.items() if value is not None}
        self.made.steps[self.name] = {"type": self.kind, **chosen}
        self.leave_out_rest()


def translate_wiggum(value: Mapping[str, object]) -> ForeignConfig:
    made = ForeignConfig(ForeignTool.WIGGUM)
    for name, inside in value.items():
        if name == "max_loops_per_task":
            try:
                made.settings["limits.max_iterations_per_task"] = _whole(str(inside))
            except ValueError as error:
                made.leave_out(name, str(error))
        elif name in ("name", "description"):
            made.leave_out(name, "settings have no name here; use a comment")
        elif name != "steps":
            made.leave_out(name, _WIGGUM_UNKNOWN)
    given = value.get("steps")
    for number, step in enumerate(given if isinstance(given, list | tuple) else ()):
        if isinstance(step, Mapping) and isinstance(step.get("type"), str):
            _translate_step(made, _Step(made, f"steps[{number}]", step))
        else:
            made.leave_out(f"steps[{number}]", "it has no type")
    if any("${" in text for text in _texts(value)):
        made.remarks.append(
            "An unset variable is an error here, not an empty string. Write `${NAME:-}` to allow an unset one."
        )
    if WORK not in made.steps:
        made.steps[WORK] = {}
        made.remarks.append("No step of the file works on tasks, so the work is last.")
    return made


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _translate_step(made: ForeignConfig, step: _Step) -> None:
    if step.kind == AGENT:
        marker = step.take("config.marker_file")
        if not marker and WORK not in made.steps:
            _translate_work(made, step)
            return
        if marker:
            made.markers[step.name] = tuple(dict.fromkeys((marker, *_MARKERS)))
        prompt = step.take("config.prompt_file") or "PROMPT.md"
        step.add(prompt=prompt, model=step.take("config.model") or None, once=bool(marker) or None)
    elif step.kind == COMMAND:
        if run := step.take("config.command").strip():
            made.commands[f"steps.{step.name}"] = run
            step.add(run=run)
        else:
            made.leave_out(step.place, "its command is empty")
    elif step.kind == COMMIT:
        _translate_commit(made, step)
    elif step.kind in (README, NOOP):
        path = step.take("config.readme_path")
        step.add(path=path if step.kind == README and path not in ("", "README.md") else None)
    else:
        why = f"ralph has no step of type {step.kind!r}; a package can bring one"
        made.leave_out(step.place, why)


def _translate_work(made: ForeignConfig, step: _Step) -> None:
    made.steps[WORK] = {}
    if model := step.take("config.model"):
        made.settings["models.primary"] = model
    part = "config.timeout" if step.rest.get("config.timeout") else "timeout"
    if given := step.take(part):
        try:
            made.settings["phases.building.iteration_timeout_seconds"] = seconds(given)
        except ValueError as error:
            step.leave_out(part, str(error))
    if str(step.rest.get("enabled")).lower() == "true":
        step.take("enabled")
    step.leave_out_rest("the limits and the circuit_breaker of ralph's settings apply to the work")


def _translate_commit(made: ForeignConfig, step: _Step) -> None:
    if "false" in (step.take("enabled").lower(), step.take("config.enabled").lower()):
        made.leave_out(step.place, "it is switched off, as git.commit is")
        return
    made.settings["git.commit"] = "task"
    made.remarks.append(
        "ralph commits on a clean, unprotected branch only. `git.branch: feature` checks one out for you."
    )
    made.steps["commit" if step.name == COMMIT and "commit" not in made.steps else step.name] = {
        "type": COMMIT
    }
    message = step.take("config.message_template")
    if set(_PLACEHOLDER.findall(message)) - set(_PLACEHOLDERS):
        why = "it has placeholders that git.message lacks"
        step.leave_out("config.message_template", why)
    elif message:
        ours = _PLACEHOLDER.sub(lambda match: _PLACEHOLDERS[match[1]], message)
        made.settings["git.message"] = ours
    step.leave_out_rest(
        "a commit is made once; one that is refused ends the run, with the task complete"
    )
