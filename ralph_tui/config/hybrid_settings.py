"""Translate the `config.yaml` of Ralph Hybrid into ralph's settings."""

from collections.abc import Callable, Mapping

from ralph_tui.config.foreign_config import ForeignConfig, ForeignTool, Value

_PROFILES = {
    "quality": {"planning": "opus", "execution": "opus", "verification": "opus"},
    "balanced": {"planning": "opus", "execution": "sonnet", "verification": "sonnet"},
    "budget": {"planning": "sonnet", "execution": "sonnet", "verification": "haiku"},
}
"""The built-in profiles of Ralph Hybrid. A file may change them."""

_MODELS = {
    "planning": "models.planning",
    "execution": "models.primary",
    "verification": "models.review",
}


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("it is not a whole number")
    return int(text)


def _branch(text: str) -> str:
    return "feature" if text.lower() in ("true", "yes") else "off"


_COUNTERPARTS: Mapping[str, tuple[str, Callable[[str], Value]]] = {
    "defaults.max_iterations": ("phases.building.max_iterations", _whole),
    "defaults.timeout_minutes": (
        "phases.building.iteration_timeout_seconds",
        lambda text: _whole(text.lstrip("0")) * 60,
    ),
    "defaults.rate_limit_per_hour": ("limits.rate_limit_per_hour", _whole),
    "circuit_breaker.no_progress_threshold": ("circuit_breaker.max_stagnation_iterations", _whole),
    "circuit_breaker.same_error_threshold": ("circuit_breaker.max_same_error", _whole),
    "completion.consecutive_test_loops": ("circuit_breaker.max_tests_only", _whole),
    "completion.promise": ("phases.building.promise", str),
    "git.branch_prefix": ("git.branch_prefix", str),
    "branch.prefix": ("git.branch_prefix", str),
    "git.auto_create_branch": ("git.branch", _branch),
    "branch.auto_create": ("git.branch", _branch),
}
"""For a key, ralph's setting and what makes its value; `ValueError` says why it cannot."""

_REASONS = {
    "defaults.prompt_template": "the prompts are ralph's; your own instructions go into PROMPT_build.md",
    "completion.consecutive_done_signals": "a claim is checked by the gate, however often it is made",
    "completion.custom_patterns": "only the promise is a claim; other words of the model are ignored",
    "claude.dangerously_skip_permissions": "permissions cannot be switched off: the guard judges every call",
    "claude.allowed_tools": "no tool can be added; phases.building.without_tools removes some",
    "archive": "finished plans are archived anyway; archive.on_completion switches that off",
    "display.theme": "ralph has other themes; choose one with screen.theme",
    "logging": "the journal always has everything",
    "hooks": "a hook is a step here: add a step of type command that runs it",
    "memory": "the memory has its own limits",
    "profiles": "only the models of the chosen profile count here",
}
"""Why a key, or a whole section, has no counterpart."""

_UNKNOWN = "neither ralph nor Ralph Hybrid documents it"
_SEVERAL = "it has more than one value"


def translate_hybrid(value: Mapping[str, object], lines: Mapping[str, int]) -> ForeignConfig:
    made = ForeignConfig(ForeignTool.HYBRID, lines=lines)
    for name, inside in value.items():
        if name == "quality_checks":
            _translate_checks(made, inside)
        elif isinstance(inside, Mapping) and name != "profiles":
            for key, part in inside.items():
                _translate(made, name, f"{name}.{key}", part)
        elif name != "profiles" and inside not in ("", None):
            made.leave_out(name, _REASONS.get(name, _UNKNOWN))
    _translate_models(made, value)
    return made


def _translate(made: ForeignConfig, section: str, key: str, value: object) -> None:
    if key == "defaults.profile" or value == "":
        return  # _translate_models translates the profile
    why = _REASONS.get(key) or _REASONS.get(section) or _UNKNOWN
    if not isinstance(value, str):
        made.leave_out(key, _SEVERAL if why == _UNKNOWN else why)
    elif key not in _COUNTERPARTS:
        made.leave_out(key, why)
    else:
        ours, translated = _COUNTERPARTS[key]
        try:
            made.settings[ours] = translated(value)
        except ValueError as error:
            made.leave_out(key, str(error))


def _translate_checks(made: ForeignConfig, inside: object) -> None:
    named = inside if isinstance(inside, Mapping) else {"": inside}
    found: dict[str, str] = {}
    for name, command in named.items():
        key = f"quality_checks.{name}" if name else "quality_checks"
        if isinstance(command, str) and command.strip():
            found[key] = command.strip()
        elif command not in ("", None):
            made.leave_out(key, _SEVERAL)
    if found:
        # Ralph Hybrid leaves ${NAME} to the shell; in ralph's settings that is written $${NAME}.
        ours = tuple(command.replace("${", "$${") for command in found.values())
        made.settings["phases.building.backpressure"] = ours
        made.commands.update(found)


def _translate_models(made: ForeignConfig, value: Mapping[str, object]) -> None:
    defaults, given = value.get("defaults"), value.get("profiles")
    chosen = str(defaults.get("profile", "")) if isinstance(defaults, Mapping) else ""
    profiles = given if isinstance(given, Mapping) else {}
    for name in profiles:
        if name != chosen and (name not in _PROFILES or not chosen):
            made.leave_out(f"profiles.{name}", _REASONS["profiles"])
    profile = profiles.get(chosen) or _PROFILES.get(chosen)
    if not chosen:
        return
    if not isinstance(profile, Mapping):
        made.leave_out("defaults.profile", f"there is no profile {chosen!r}")
        return
    for role, model in profile.items():
        source = f"profiles.{chosen}.{role}"
        if role not in _MODELS:
            made.leave_out(source, "ralph has no sessions of that kind")
        elif isinstance(model, str) and model:
            made.settings[_MODELS[role]] = model
