"""Load settings in layers: defaults < user file < project file < RALPH_* < command line."""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ralph_tui.config.setting_names import description, is_mapping, known_keys
from ralph_tui.config.settings import Settings
from ralph_tui.config.step_settings import StepBreaker, StepSettings
from ralph_tui.config.variables import expanded
from ralph_tui.config.yaml_reader import Entry, read_entries, unknown_setting
from ralph_tui.domain.documents.extensions import McpServer
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.check_commands import SandboxException

COMMAND_LINE = "command line"
DEFAULT = "default"

_SPECS = "project.specs"
"""Decides where files are, so every ralph in the project must read the same value."""

VARIABLES: Mapping[str, str] = {
    "RALPH_MAX_ITERATIONS": "phases.building.max_iterations",
    "RALPH_MAX_COST_USD": "safety.cost_limits.total",
    "RALPH_MAX_COST_PER_ITERATION_USD": "safety.cost_limits.per_iteration",
    "RALPH_MAX_COST_PER_SESSION_USD": "safety.cost_limits.per_session",
    "RALPH_CONTEXT_BUDGET_PERCENT": "context.budget_percent",
    "RALPH_HANDOFF_THRESHOLD_PERCENT": "context.handoff_threshold_percent",
    "RALPH_CONTEXT_CAPACITY_TOKENS": "context.capacity_tokens",
    "RALPH_CIRCUIT_BREAKER_FAILURES": "circuit_breaker.max_consecutive_failures",
    "RALPH_CIRCUIT_BREAKER_STAGNATION": "circuit_breaker.max_stagnation_iterations",
    "RALPH_PRIMARY_MODEL": "models.primary",
    "RALPH_PLANNING_MODEL": "models.planning",
    "RALPH_GATE_TIMEOUT_SECONDS": "phases.building.gate_timeout_seconds",
    "RALPH_ITERATION_TIMEOUT_SECONDS": "phases.building.iteration_timeout_seconds",
}
"""The documented variables. An empty variable counts as unset."""

_RALPH_NAME = re.compile(r"RALPH_[A-Z0-9_]+\Z")

_NO_OVERRIDES: Mapping[str, object] = {}


class EffectiveSetting(NamedTuple):
    """A setting's effective value and its source."""

    key: str
    value: str
    source: str
    help: str


def config_paths(root: Path, home: Path | None = None) -> tuple[Path, ...]:
    user = home if home is not None else _home()
    places = [user] if user is not None else []
    return tuple(place / ".ralph" / "config.yaml" for place in (*places, root))


def load_settings(
    root: Path,
    *,
    overrides: Mapping[str, object] = _NO_OVERRIDES,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> Settings:
    """Load the settings of the project at `root`.

    Args:
        overrides: Command line values by dotted key; None counts as not given.
    """
    chosen = effective_entries(root, overrides, environ, home)
    try:
        return Settings.model_validate(_as_tree(chosen))
    except ValidationError as error:
        raise _bad_value(error.errors(include_url=False)[0], chosen) from error


def short_source(source: str, root: Path) -> str:
    """Return a source for display: the layer, and the file's short name and line."""
    if source in (DEFAULT, COMMAND_LINE):
        return source
    for path, word in zip(config_paths(root)[::-1], ("project", "user"), strict=False):
        if source.startswith(f"{path}:"):
            short = ".ralph/config.yaml" if word == "project" else "~/.ralph/config.yaml"
            return f"{word} {short}{source.removeprefix(str(path))}"
    return f"variable {source}"


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no home directory, and so no user file
        return None


def source_of(key: str, entries: Mapping[str, Entry]) -> str:
    """Return the source of a setting: `default`, `/path/config.yaml:12`, a variable, or `command line`."""
    return entries[key].where if key in entries else DEFAULT


def effective_entries(
    root: Path,
    overrides: Mapping[str, object] = _NO_OVERRIDES,
    environ: Mapping[str, str] | None = None,
    home: Path | None = None,
) -> dict[str, Entry]:
    given = os.environ if environ is None else environ
    files: dict[str, Entry] = {}
    for path in dict.fromkeys(config_paths(root, home)):
        files |= {entry.key: entry for entry in read_entries(path)}
    stronger = {entry.key: entry for entry in _environment_entries(given)}
    stronger |= {entry.key: entry for entry in _override_entries(overrides)}
    # An overridden value may refer to unset variables.
    left = {key: expanded(entry, given) for key, entry in files.items() if key not in stronger}
    chosen = left | stronger
    folder = chosen.get(_SPECS)
    if folder is not None and not folder.where.startswith(f"{config_paths(root, home)[-1]}:"):
        raise ConfigError(
            f"{folder.where}: {_SPECS} can be set only in the project's .ralph/config.yaml.",
            f"Set it there with `ralph config set {_SPECS} DIRECTORY`.",
        )
    return chosen


def _environment_entries(environ: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the settings that environment variables set.

    Raises:
        ConfigError: A variable's name is probably a misspelled setting. Other names that begin with `RALPH_`
            may belong to another program and are ignored.
    """
    for name, value in environ.items():
        if key := VARIABLES.get(name):
            if value.strip():
                yield Entry(key, value.strip(), name)
        elif _RALPH_NAME.match(name) and (found := get_close_matches(name, VARIABLES, 1, 0.85)):
            raise ConfigError(
                f"The environment variable {name} is not a setting.",
                f"Did you mean {found[0]}? Unset {name} if it belongs to another program.",
            )


def _override_entries(overrides: Mapping[str, object]) -> Iterator[Entry]:
    for key, value in overrides.items():
        if key not in known_keys():
            raise unknown_setting(key, COMMAND_LINE)
        if value is not None:
            yield Entry(key, value, COMMAND_LINE)


def _as_tree(chosen: Mapping[str, Entry]) -> dict[str, object]:
    tree: dict[str, object] = {}
    for entry in chosen.values():
        *path, name = entry.key.split(".")
        level = tree
        for part in path:
            inner = level.setdefault(part, {})
            assert isinstance(inner, dict)
            level = inner
        level[name] = entry.value
    return tree


def _bad_value(detail: ErrorDetails, chosen: Mapping[str, Entry]) -> ConfigError:
    parts = [str(part) for part in detail["loc"]]
    key = next((k for k in _prefixes(parts) if k in chosen), None)
    if key is None:
        return _bad_combination(".".join(parts), detail, chosen)
    entry = chosen[key]
    below = [str(part) for part in detail["loc"]][key.count(".") + 1 :]
    named = "value_error" in detail["type"] or detail["type"] == "string_too_short"
    given = "" if named else f", not {_quoted(detail['input'])}"
    if below and is_mapping(key):
        part = next((p for p in _prefixes(below) if p in entry.places), "")
        where, name = entry.places.get(part, entry.where), ".".join((key, *below))
        if detail["type"] != "extra_forbidden":
            return ConfigError(f"{where}: {name}: {_reason(detail)}{given}.", description(key))
        known = _fields_of(key, below)
        near = get_close_matches(below[-1], known, 1, 0.6)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."
        return ConfigError(f"{where}: unknown setting {one_line(name, 80)!r}.", hint)
    given += f", from {_quoted(entry.written)}" if entry.written is not None else ""
    default = known_keys()[key].get_default(call_default_factory=True)
    return ConfigError(
        f"{entry.where}: {key} {_reason(detail)}{given}.",
        f"{description(key)} The default is {_quoted(default)}.",
    )


def _fields_of(key: str, below: list[str]) -> Collection[str]:
    if key == "steps":
        return (StepBreaker if below[1:-1] == ["breaker"] else StepSettings).model_fields
    return (SandboxException if key.startswith("safety.") else McpServer).model_fields


def _prefixes(parts: list[str]) -> Iterator[str]:
    for length in range(len(parts), 0, -1):
        yield ".".join(parts[:length])


def _bad_combination(
    section: str, detail: ErrorDetails, chosen: Mapping[str, Entry]
) -> ConfigError:
    places = [e.where for k, e in chosen.items() if k.startswith(f"{section}.")]
    return ConfigError(
        f"{' and '.join(dict.fromkeys(places))}: in {section}, {_reason(detail)}.",
        "`ralph config show` prints every value and where it comes from.",
    )


_MESSAGES = {
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be one value",
    "string_too_short": "must not be empty",
    "tuple_type": "must be a list",
    "mapping_type": "must be `name: value` lines",
    "dict_type": "must be `name: value` lines",
    "model_type": "must be `name: value` lines",
    "model_attributes_type": "must be `name: value` lines",
}


def _reason(detail: ErrorDetails) -> str:
    if words := _MESSAGES.get(detail["type"]):
        return words
    return detail["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)


def _quoted(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_quoted, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{one_line(value, 60)!r}" if isinstance(value, str) else one_line(str(value), 60)
