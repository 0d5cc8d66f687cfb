"""Translate the `default.json` of Wiggum, a list of steps, into ralph's steps and settings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeGuard

from ralph_tui.config.foreign_config import ForeignConfig, ForeignTool
from ralph_tui.config.step_settings import AGENT, COMMAND, COMMIT, NOOP, README, WORK

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_BAD_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PLACEHOLDERS = {"task_id": "{task.id}", "task": "{task.title}"}
_MARKERS = (".ralph/.ralph_setup_done", ".ralph/.setup_done", ".ralph_setup_done")
"""The marker files that releases of Wiggum write when the setup is done."""

_VARIABLE = "it holds a variable; write its value into ralph's settings"
_DURATION = "it is not a duration such as 20m or 30s"
_UNKNOWN = "neither ralph nor Wiggum documents it"

_REASONS = {
    "prd_file": "the plan is ralph's; `ralph import` reads a prd.json",
    "fix_plan_file": "the plan is ralph's; `ralph import` reads a fix_plan.md",
    "session_file": "every session starts fresh",
    "session_expiry_hours": "every session starts fresh",
    "allowed_tools": "no tool can be added; phases.building.without_tools removes some",
    "claude_binary": "ralph includes its own Claude Code CLI",
    "output_format": "ralph reads the CLI's messages itself",
    "append_system_prompt": "write it into CLAUDE.md or PROMPT_build.md",
    "log_dir": "logs are in .ralph/logs",
    "repo_dir": "ralph commits in the repository of the project",
    "commit_message_file": "the message comes from git.message",
    "project_dir": "the project is where .ralph is",
    "patterns": "the check looks only at the README",
}
"""Why a setting inside `config` has no counterpart."""

_WORK_REASONS = {
    "max_retries": "a failed iteration is retried up to limits.max_attempts_per_task",
    "retry_delay": "a failed iteration is retried at once",
    "continue_on_error": "a failed iteration never ends the run on its own",
    "circuit_breaker": "circuit_breaker watches the work of all iterations",
    "enabled": "the work cannot be switched off",
}
_COMMIT_REASONS = {
    "timeout": "a commit has its own time limit",
    "max_retries": "a commit is made once",
    "retry_delay": "a commit is made once",
    "continue_on_error": "a commit that is refused ends the run, with the task complete",
    "circuit_breaker": "a commit has no breaker",
}


def translate_wiggum(value: Mapping[str, object]) -> ForeignConfig:
    made = ForeignConfig(ForeignTool.WIGGUM)
    for name, inside in value.items():
        if name == "max_loops_per_task":
            if isinstance(inside, int):
                made.adopt(name, "limits.max_iterations_per_task", inside)
            else:
                made.leave_out(name, "it is not a whole number")
        elif name in ("name", "description"):
            made.leave_out(name, "settings have no name here; use a comment")
        elif name != "steps":
            made.leave_out(name, _UNKNOWN)
    given = value.get("steps")
    steps = given if isinstance(given, list) else []
    works = _work_index(steps)
    for number, step in enumerate(steps):
        if _is_step(step):
            _translate_step(made, f"steps[{number}]", step, is_work=number == works)
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


def _is_step(step: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(step, Mapping) and isinstance(step.get("type"), str)


def _config(step: Mapping[str, object]) -> Mapping[str, object]:
    config = step.get("config")
    return config if isinstance(config, Mapping) else {}


def _work_index(steps: Sequence[object]) -> int | None:
    for number, step in enumerate(steps):
        if _is_step(step) and step["type"] == AGENT and not _config(step).get("marker_file"):
            return number
    return None


def _translate_step(
    made: ForeignConfig, place: str, step: Mapping[str, object], *, is_work: bool
) -> None:
    kind = str(step["type"])
    if is_work:
        _translate_work(made, place, step)
    elif kind == AGENT:
        _translate_agent(made, place, step)
    elif kind == COMMAND:
        _translate_command(made, place, step)
    elif kind == COMMIT:
        _translate_commit(made, place, step)
    elif kind in (README, NOOP):
        settings: dict[str, object] = {"type": kind}
        path = _config(step).get("readme_path")
        if kind == README and isinstance(path, str) and path not in ("", "README.md"):
            settings["path"] = path
        _leave_out_rest(made, place, step, {"readme_path"})
        _add_step(made, place, step, settings)
    else:
        made.leave_out(place, f"ralph has no step of type {kind!r}; a package can bring one")


def _translate_work(made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
    config = _config(step)
    made.steps[WORK] = {}
    if isinstance(model := config.get("model"), str) and model:
        made.adopt(f"{place}.config.model", "models.primary", model)
    timeout = "config.timeout" if "timeout" in config else "timeout"
    given = config.get("timeout", step.get("timeout"))
    limit = None if given in (None, "") else _seconds(made, f"{place}.{timeout}", given)
    if limit is not None:
        made.adopt(f"{place}.{timeout}", "phases.building.iteration_timeout_seconds", limit)
    if "timeout" in config and "timeout" in step:
        made.leave_out(f"{place}.timeout", "the limit of the session is the limit of the iteration")
    if config.get("prompt_file"):
        made.leave_out(
            f"{place}.config.prompt_file",
            "ralph's own prompt names the task and its checks; your instructions go into PROMPT_build.md",
        )
    for name, reason in _WORK_REASONS.items():
        if name in step and not (name == "enabled" and step[name] is True):
            made.leave_out(f"{place}.{name}", reason)
    _leave_out_rest(made, place, step, {"model", "timeout", "prompt_file"})


def _translate_agent(made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
    config = _config(step)
    prompt = config.get("prompt_file")
    settings: dict[str, object] = {
        "type": AGENT,
        "prompt": prompt if isinstance(prompt, str) and prompt else "PROMPT.md",
    }
    if isinstance(model := config.get("model"), str) and model:
        settings["model"] = model
    marker = config.get("marker_file")
    if isinstance(marker, str) and marker:
        settings["once"] = True
    name = _add_step(made, place, step, settings, timeout=config.get("timeout"))
    if isinstance(marker, str) and marker:
        made.markers[name] = tuple(dict.fromkeys((marker, *_MARKERS)))
    _leave_out_rest(made, place, step, {"prompt_file", "model", "marker_file", "timeout"})


def _translate_command(made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
    config = _config(step)
    run = config.get("command")
    if not isinstance(run, str) or not run.strip():
        made.leave_out(place, "its command is empty")
        return
    settings: dict[str, object] = {"type": COMMAND, "run": run}
    name = _add_step(made, place, step, settings, timeout=config.get("timeout"))
    made.commands[f"steps.{name}"] = run
    _leave_out_rest(made, place, step, {"command", "timeout"})


def _translate_commit(made: ForeignConfig, place: str, step: Mapping[str, object]) -> None:
    config = _config(step)
    if step.get("enabled") is False or config.get("enabled") is False:
        made.leave_out(place, "it is switched off, as git.commit is")
        return
    made.adopt(place, "git.commit", "task")
    made.remarks.append(
        "ralph commits on a clean, unprotected branch only. `git.branch: feature` checks one out for you."
    )
    made.steps[_unique_name(made, str(step.get("name") or "commit"))] = {"type": COMMIT}
    message = config.get("message_template")
    if isinstance(message, str) and message:
        if set(_PLACEHOLDER.findall(message)) <= set(_PLACEHOLDERS):
            ours = _PLACEHOLDER.sub(lambda match: _PLACEHOLDERS[match[1]], message)
            made.adopt(f"{place}.config.message_template", "git.message", ours)
        else:
            made.leave_out(
                f"{place}.config.message_template", "it has placeholders that git.message lacks"
            )
    for name, reason in _COMMIT_REASONS.items():
        if name in step:
            made.leave_out(f"{place}.{name}", reason)
    _leave_out_rest(made, place, step, {"enabled", "message_template"})


def _leave_out_rest(
    made: ForeignConfig, place: str, step: Mapping[str, object], taken: set[str]
) -> None:
    for name in _config(step):
        if name not in taken:
            made.leave_out(f"{place}.config.{name}", _REASONS.get(name, _UNKNOWN))
    known = {"type", "name", "config", "timeout", "enabled", *_WORK_REASONS}
    for name in step:
        if name not in known:
            made.leave_out(f"{place}.{name}", _UNKNOWN)


def _add_step(
    made: ForeignConfig,
    place: str,
    step: Mapping[str, object],
    settings: dict[str, object],
    *,
    timeout: object = None,
) -> str:
    """Add a step with the settings that all types share; return its name.

    Args:
        timeout: The timeout in `config`, used when the step itself has none.
    """
    if step.get("timeout") not in (None, ""):
        settings["timeout_seconds"] = _seconds(made, f"{place}.timeout", step["timeout"])
        if timeout not in (None, ""):
            made.leave_out(f"{place}.config.timeout", "the timeout of the step itself applies")
    elif timeout not in (None, ""):
        settings["timeout_seconds"] = _seconds(made, f"{place}.config.timeout", timeout)
    if isinstance(retries := step.get("max_retries"), int) and retries:
        settings["retries"] = retries
        delay = _seconds(made, f"{place}.retry_delay", step.get("retry_delay", "1s"))
        settings["retry_delay_seconds"] = delay
    elif "retry_delay" in step:
        made.leave_out(f"{place}.retry_delay", "there is no retry without max_retries")
    if step.get("continue_on_error") is True:
        settings["continue_on_error"] = True
    if step.get("enabled") is False:
        settings["enabled"] = False
    breaker = step.get("circuit_breaker")
    if isinstance(breaker, Mapping) and isinstance(breaker.get("threshold"), int):
        reset = breaker.get("reset_after", "30s")
        after = _seconds(made, f"{place}.circuit_breaker.reset_after", reset)
        settings["breaker"] = _given(
            {"threshold": breaker["threshold"], "reset_after_seconds": after}
        )
    name = _unique_name(made, str(step.get("name") or settings["type"]))
    made.steps[name] = _given(settings)
    return name


def _given(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if value is not None}


def _unique_name(made: ForeignConfig, wanted: str) -> str:
    base = _BAD_NAME.sub("-", wanted).strip("-._")[:60] or "step"
    name, number = f"{base}-step" if base == WORK else base, 2
    while name in made.steps:
        name, number = f"{base}-{number}", number + 1
    return name


def _seconds(made: ForeignConfig, source: str, given: object) -> float | None:
    """Return a duration in seconds; leave out what is none."""
    seconds = parsed_duration(given)
    if seconds is None:
        made.leave_out(source, _VARIABLE if "${" in str(given) else _DURATION)
    return seconds


def parsed_duration(given: object) -> float | None:
    """Return the seconds of a duration such as `1h30m`, or None when it is not a duration."""
    if not isinstance(given, str):
        return None
    parts = list(_PART.finditer(given))
    if not parts or "".join(part.group() for part in parts) != given.strip():
        return None
    return sum(float(part[1]) * _UNITS[part[2]] for part in parts)
