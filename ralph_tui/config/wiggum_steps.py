"""Translate the `default.json` of Wiggum, a list of steps, into ralph's steps and settings."""

import re
from collections.abc import Iterator, Mapping

from ralph_tui.config.foreign_config import ForeignConfig, ForeignTool
from ralph_tui.config.step_settings import AGENT, COMMAND, COMMIT, NOOP, README, WORK

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_BAD_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PLACEHOLDERS = {"task_id": "{task.id}", "task": "{task.title}"}
_MARKERS = (".ralph/.ralph_setup_done", ".ralph/.setup_done", ".ralph_setup_done")
"""The marker files that releases of Wiggum write when the setup is done."""

_UNKNOWN = "neither ralph nor Wiggum documents it"

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
}
"""Why a part of a step has no counterpart."""

_WORK_REASONS = {
    **_REASONS,
    "config.prompt_file": "ralph's own prompt names the task and its checks; your instructions go into PROMPT_build.md",
    "max_retries": "a failed iteration is retried up to limits.max_attempts_per_task",
    "retry_delay": "a failed iteration is retried at once",
    "continue_on_error": "a failed iteration never ends the run on its own",
    "circuit_breaker": "circuit_breaker watches the work of all iterations",
    "enabled": "the work cannot be switched off",
}
_COMMIT_REASONS = {
    **_REASONS,
    "timeout": "a commit has its own time limit",
    "max_retries": "a commit is made once",
    "retry_delay": "a commit is made once",
    "continue_on_error": "a commit that is refused ends the run, with the task complete",
    "circuit_breaker": "a commit has no breaker",
}


class _Step:
    """A step of the file. `rest` has the parts that are not translated yet."""

    def __init__(self, made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
        config = step.get("config")
        self.kind = str(step["type"])
        self.name = str(step.get("name") or self.kind)
        self.rest = {name: step[name] for name in step if name not in ("type", "name", "config")}
        if isinstance(config, Mapping):
            self.rest |= {f"config.{name}": value for name, value in config.items()}
        self._made, self.place = made, place

    def take(self, name: str) -> object:
        return self.rest.pop(name, None)

    def text(self, name: str) -> str:
        found = self.take(name)
        return found if isinstance(found, str) else ""

    def duration(self, name: str, given: object) -> float | None:
        """Return a duration in seconds; leave out what is none."""
        seconds = parsed_duration(given)
        if seconds is None:
            has_variable = "${" in str(given)
            why = "it holds a variable; write its value into ralph's settings"
            self.leave_out(name, why if has_variable else "it is not a duration such as 20m or 30s")
        return seconds

    def timeout(self, *names: str, why: str) -> tuple[str, float | None]:
        """Return the name and the seconds of the first timeout; leave out the others because of `why`."""
        given = {name: value for name in names if (value := self.take(name)) not in (None, "")}
        first, *others = *given, ""
        for name in filter(None, others):
            self.leave_out(name, why)
        return first, self.duration(first, given[first]) if first else None

    def leave_out(self, name: str, why: str) -> None:
        self._made.leave_out(f"{self.place}.{name}", why)

    def leave_out_rest(self, reasons: Mapping[str, str] = _REASONS) -> None:
        for name in self.rest:
            self.leave_out(name, reasons.get(name, _UNKNOWN))


def translate_wiggum(value: Mapping[str, object]) -> ForeignConfig:
    made = ForeignConfig(ForeignTool.WIGGUM)
    for name, inside in value.items():
        if name == "max_loops_per_task" and isinstance(inside, int):
            made.settings["limits.max_iterations_per_task"] = inside
        elif name == "max_loops_per_task":
            made.leave_out(name, "it is not a whole number")
        elif name in ("name", "description"):
            made.leave_out(name, "settings have no name here; use a comment")
        elif name != "steps":
            made.leave_out(name, _UNKNOWN)
    given = value.get("steps")
    for number, step in enumerate(given if isinstance(given, list) else ()):
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
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _translate_step(made: ForeignConfig, step: _Step) -> None:
    if step.kind == AGENT:
        marker = step.text("config.marker_file")
        if not marker and WORK not in made.steps:
            _translate_work(made, step)
            return
        prompt = step.text("config.prompt_file") or "PROMPT.md"
        model = {"model": found} if (found := step.text("config.model")) else {}
        once = {"once": True} if marker else {}
        name = _add_step(made, step, {"type": AGENT, "prompt": prompt, **model, **once})
        if marker:
            made.markers[name] = tuple(dict.fromkeys((marker, *_MARKERS)))
    elif step.kind == COMMAND:
        if run := step.text("config.command").strip():
            made.commands[f"steps.{_add_step(made, step, {'type': COMMAND, 'run': run})}"] = run
        else:
            made.leave_out(step.place, "its command is empty")
    elif step.kind == COMMIT:
        _translate_commit(made, step)
    elif step.kind in (README, NOOP):
        path = step.text("config.readme_path")
        own = {"path": path} if step.kind == README and path not in ("", "README.md") else {}
        _add_step(made, step, {"type": step.kind, **own})
    else:
        why = f"ralph has no step of type {step.kind!r}; a package can bring one"
        made.leave_out(step.place, why)


def _translate_work(made: ForeignConfig, step: _Step) -> None:
    made.steps[WORK] = {}
    if model := step.text("config.model"):
        made.settings["models.primary"] = model
    why = "the limit of the session is the limit of the iteration"
    _, limit = step.timeout("config.timeout", "timeout", why=why)
    if limit is not None:
        made.settings["phases.building.iteration_timeout_seconds"] = limit
    if step.rest.get("enabled") is True:
        step.take("enabled")
    step.leave_out_rest(_WORK_REASONS)


def _translate_commit(made: ForeignConfig, step: _Step) -> None:
    if step.take("enabled") is False or step.take("config.enabled") is False:
        made.leave_out(step.place, "it is switched off, as git.commit is")
        return
    made.settings["git.commit"] = "task"
    made.remarks.append(
        "ralph commits on a clean, unprotected branch only. `git.branch: feature` checks one out for you."
    )
    made.steps[_unique_name(made, "commit" if step.name == COMMIT else step.name)] = {
        "type": COMMIT
    }
    if message := step.text("config.message_template"):
        if set(_PLACEHOLDER.findall(message)) <= set(_PLACEHOLDERS):
            ours = _PLACEHOLDER.sub(lambda match: _PLACEHOLDERS[match[1]], message)
            made.settings["git.message"] = ours
        else:
            why = "it has placeholders that git.message lacks"
            step.leave_out("config.message_template", why)
    step.leave_out_rest(_COMMIT_REASONS)


def _add_step(made: ForeignConfig, step: _Step, settings: dict[str, object]) -> str:
    """Add a step with the settings that all types share; return its name."""
    why = "the timeout of the step itself applies"
    _, settings["timeout_seconds"] = step.timeout("timeout", "config.timeout", why=why)
    retries, delay = step.take("max_retries"), step.take("retry_delay")
    if isinstance(retries, int) and retries:
        settings["retries"] = retries
        settings["retry_delay_seconds"] = step.duration("retry_delay", delay or "1s")
    elif delay is not None:
        step.leave_out("retry_delay", "there is no retry without max_retries")
    settings["continue_on_error"] = True if step.take("continue_on_error") is True else None
    settings["enabled"] = False if step.take("enabled") is False else None
    breaker = step.take("circuit_breaker")
    if isinstance(breaker, Mapping) and isinstance(breaker.get("threshold"), int):
        reset = breaker.get("reset_after", "30s")
        after = step.duration("circuit_breaker.reset_after", reset)
        settings["breaker"] = _given(
            {"threshold": breaker["threshold"], "reset_after_seconds": after}
        )
    name = _unique_name(made, step.name)
    made.steps[name] = _given(settings)
    step.leave_out_rest()
    return name


def _given(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if value is not None}


def _unique_name(made: ForeignConfig, wanted: str) -> str:
    base = _BAD_NAME.sub("-", wanted).strip("-._")[:60] or "step"
    name, number = f"{base}-step" if base == WORK else base, 2
    while name in made.steps:
        name, number = f"{base}-{number}", number + 1
    return name


def parsed_duration(given: object) -> float | None:
    """Return the seconds of a duration such as `1h30m`, or None when it is not a duration."""
    if not isinstance(given, str):
        return None
    parts = list(_PART.finditer(given))
    if not parts or "".join(part.group() for part in parts) != given.strip():
        return None
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)
