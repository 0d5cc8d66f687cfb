"""Translates the `config.yaml` of Ralph Hybrid into ralph's settings."""

from collections.abc import Mapping

from ralph_tui.config.foreign_config import ForeignConfig, ForeignForm, Translation

_PROFILES = {
    "quality": {"planning": "opus", "execution": "opus", "verification": "opus"},
    "balanced": {"planning": "opus", "execution": "sonnet", "verification": "sonnet"},
    "budget": {"planning": "sonnet", "execution": "sonnet", "verification": "haiku"},
}
"""The profiles that come with it; a file may change them."""

_MODELS = {
    "planning": "models.planning",
    "execution": "models.primary",
    "verification": "models.review",
}
_MINUTE = 60

_NUMBERS = {
    "defaults.max_iterations": "phases.building.max_iterations",
    "defaults.rate_limit_per_hour": "limits.rate_limit_per_hour",
    "circuit_breaker.no_progress_threshold": "circuit_breaker.max_stagnation_iterations",
    "circuit_breaker.same_error_threshold": "circuit_breaker.max_same_error",
    "completion.consecutive_test_loops": "circuit_breaker.max_tests_only",
}
_TEXTS = {
    "completion.promise": "phases.building.promise",
    "git.branch_prefix": "git.branch_prefix",
    "branch.prefix": "git.branch_prefix",
}
_SWITCHES = ("git.auto_create_branch", "branch.auto_create")
"""Whether it makes a branch for the work."""

_REASONS = {
    "defaults.prompt_template": "the prompts are ralph's; your own instructions go into PROMPT_build.md",
    "completion.consecutive_done_signals": "a claim is checked by the gate, however often it is made",
    "completion.custom_patterns": "only the promise is a claim; other words of the model mean nothing",
    "claude.dangerously_skip_permissions": "permissions cannot be switched off: the guard judges every call",
    "claude.allowed_tools": "no tool can be added; phases.building.without_tools takes some away",
    "archive": "finished plans are archived anyway; archive.on_completion switches that off",
    "display.theme": "the themes are others; choose one with screen.theme",
    "logging": "the journal always has everything",
    "hooks": "a hook is a step here: add a step of type command that runs it",
    "memory": "the memory has its own bounds",
    "profiles": "only the models of the chosen profile count here",
}
"""Why a key, or a whole section, has no counterpart."""

_UNKNOWN = "neither ralph nor Ralph Hybrid documents it"
_NO_NUMBER = "it is not a whole number"
_MORE = "it has more than one value"


def translate_hybrid(value: Mapping[str, object], lines: Mapping[str, int]) -> ForeignConfig:
    """Translate the settings of Ralph Hybrid.

    Args:
        value: The parsed file.
        lines: The line of each key by dotted name.
    """
    made = Translation(ForeignForm.HYBRID, lines=lines)
    for name, inside in value.items():
        if name == "quality_checks":
            _checks(made, inside)
        elif isinstance(inside, Mapping):
            _section(made, name, inside)
        elif inside not in ("", None):
            made.leave(name, _REASONS.get(name, _UNKNOWN))
    _models(made, value)
    return made.result


def _section(made: Translation, section: str, inside: Mapping[str, object]) -> None:
    for name, value in inside.items():
        key = f"{section}.{name}"
        why = _REASONS.get(key) or _REASONS.get(section) or _UNKNOWN
        if key == "defaults.profile" or value == "":
            continue  # the models of the profile say it
        if section == "profiles":
            continue  # the same
        if not isinstance(value, str):
            made.leave(key, _MORE if why == _UNKNOWN else why)
        elif not _taken(made, key, value):
            made.leave(key, why)


def _taken(made: Translation, key: str, value: str) -> bool:
    """Take a value over, or leave it out where it is none; returns False for a key without a counterpart."""
    if key == "defaults.timeout_minutes":
        _minutes(made, key, value)
    elif key in _NUMBERS:
        _number(made, key, value)
    elif key in _TEXTS:
        made.take(key, _TEXTS[key], value)
    elif key in _SWITCHES:
        made.take(key, "git.branch", "feature" if value.lower() in ("true", "yes") else "off")
    else:
        return False
    return True


def _number(made: Translation, key: str, value: str) -> None:
    if value.isdecimal():
        made.take(key, _NUMBERS[key], int(value))
    else:
        made.leave(key, _NO_NUMBER)


def _minutes(made: Translation, key: str, value: str) -> None:
    if value.isdecimal() and int(value) > 0:
        made.take(key, "phases.building.iteration_timeout_seconds", int(value) * _MINUTE)
    else:
        made.leave(key, _NO_NUMBER)


def _checks(made: Translation, inside: object) -> None:
    """Take the quality checks over as the gate's commands, in their order."""
    named = inside if isinstance(inside, Mapping) else {"": inside}
    found: dict[str, str] = {}
    for name, command in named.items():
        key = f"quality_checks.{name}" if name else "quality_checks"
        if isinstance(command, str) and command.strip():
            found[key] = command.strip()
        elif command not in ("", None):
            made.leave(key, _MORE)
    if found:
        # Their shell reads ${NAME}; here $${ leaves it to the shell.
        ours = tuple(command.replace("${", "$${") for command in found.values())
        made.take("quality_checks", "phases.building.backpressure", ours)
        made.commands.update(found)


def _models(made: Translation, value: Mapping[str, object]) -> None:
    """Take the models of the profile in use over, and leave out the other profiles."""
    defaults, given = value.get("defaults"), value.get("profiles")
    chosen = str(defaults.get("profile", "")) if isinstance(defaults, Mapping) else ""
    profiles = given if isinstance(given, Mapping) else {}
    for name in profiles:
        if name != chosen and (name not in _PROFILES or not chosen):
            made.leave(f"profiles.{name}", _REASONS["profiles"])
    profile = profiles.get(chosen) or _PROFILES.get(chosen)
    if not chosen:
        return
    if not isinstance(profile, Mapping):
        made.leave("defaults.profile", f"there is no profile {chosen!r}")
        return
    for role, model in profile.items():
        source = f"profiles.{chosen}.{role}"
        if role not in _MODELS:
            made.leave(source, "ralph has no sessions of that kind")
        elif isinstance(model, str) and model:
            made.take(source, _MODELS[role], model)
