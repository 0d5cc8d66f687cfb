"""Read and change settings for a person: those of the project, and limits, models and the breaker of a running loop.

A change is written to disk, and a loop reads it before its next step.
"""

import os
from pathlib import Path
from typing import NamedTuple

from ralph_tui.config.edit import with_setting
from ralph_tui.config.load import (
    COMMAND_LINE,
    EffectiveSetting,
    effective_entries,
    load_settings,
    short_source,
    source_of,
)
from ralph_tui.config.setting_names import description, is_mapping, known_keys
from ralph_tui.config.settings import Settings
from ralph_tui.config.template import yaml_value
from ralph_tui.config.variables import expanded
from ralph_tui.config.yaml_reader import Entry, read_text
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.errors import ConfigError, RalphError
from ralph_tui.domain.project_state import Adjusted, ApprovalKind
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project


class SettingChange(NamedTuple):
    """A setting that was written."""

    value: str
    path: Path
    stronger: str
    """The source that overrides the file, so that the change has no effect; otherwise empty."""


def values_and_sources(root: Path) -> dict[str, tuple[object, str]]:
    """Return the value of each setting, with its references to variables as written, and its source."""
    settings, entries, found = load_settings(root), effective_entries(root), {}
    for key in known_keys():
        entry = entries.get(key)
        value = value_of(settings, key) if entry is None or entry.written is None else entry.written
        found[key] = (value, source_of(key, entries))
    return found


def effective(root: Path) -> tuple[EffectiveSetting, ...]:
    return tuple(
        EffectiveSetting(
            key,
            value if isinstance(value, str) else yaml_value(value),
            short_source(source, root),
            description(key),
        )
        for key, (value, source) in values_and_sources(root).items()
    )


def change_setting(root: Path, key: str, typed: str) -> SettingChange:
    """Write a setting into the project's file, and keep its comments and references to variables."""
    path = Layout(root.resolve()).config
    # Loaded like a command line value, it is checked by the same rules and with all other layers.
    try:
        given = expanded(Entry(key, _parsed(key, typed), COMMAND_LINE), os.environ)
        settings = load_settings(root, overrides={key: given.value})
    except ConfigError as error:  # the person has just typed the value, so its source is obvious
        message = error.message.removeprefix(f"{COMMAND_LINE}: ")
        raise ConfigError(message, error.hint) from error
    checked = value_of(settings, key)
    kept = checked if given.written is None else given.written
    Project(root).write_config(with_setting(read_text(path), key, kept, path))
    source = source_of(key, effective_entries(root))
    return SettingChange(yaml_value(kept), path, "" if source.startswith(f"{path}:") else source)


def value_of(settings: object, key: str) -> object:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def _parsed(key: str, value: str) -> object:
    field = known_keys().get(key)
    mapping = field is not None and is_mapping(key)
    default = field.get_default(call_default_factory=True) if field else None
    if not isinstance(default, tuple | dict):
        return value
    import yaml

    try:
        found = yaml.load(value, Loader=yaml.BaseLoader)  # noqa: S506  (the base loader makes text only)
    except yaml.YAMLError as error:
        kind, form = ("mapping", "{name: value}") if mapping else ("list", "[one, two]")
        raise ConfigError(f"{key}: {value!r} is not a {kind}.", f"Write it as {form}.") from error
    if mapping:
        return found
    return tuple(found) if isinstance(found, list) else (value,)


def reset_breaker(root: Path, reason: str) -> CircuitBreaker:
    """Close the circuit breaker, reset its counters and record the reason."""
    if not reason.strip():
        message = "A reset needs a reason."
        raise RalphError(message, "Say what you fixed.")

    def change(docs: Documents) -> Documents:
        closed = docs.breaker.reset(reason.strip())
        waiting = docs.state.approval
        if waiting is None or waiting.kind is not ApprovalKind.RECOVERY:
            return docs.replacing(breaker=closed)
        decided = waiting.model_copy(update={"approved": True, "reason": closed.reset_reason})
        return docs.with_state(approval=decided).replacing(breaker=closed)

    return Project(root).transact(change).breaker


def adjust(root: Path, wanted: Adjusted) -> Adjusted:
    """Change limits or models of the current run; None keeps a value. Return all changes for this run.

    Limits apply immediately, a model from the next session on.
    """
    project = Project(root)
    if LoopLock(project.layout).feature_owner() is None:
        of = f" of {project.layout.feature}" if project.layout.feature else ""
        message = f"No loop{of} is running in {root}, so its limits and models cannot be changed."
        raise RalphError(message, "Change the setting instead: `ralph config set KEY VALUE`.")
    given = wanted.model_dump(exclude_none=True)

    def change(docs: Documents) -> Documents:
        before = docs.state.adjusted or Adjusted()
        # The breaker compares the project's cost with its own copy of the limit.
        breaker = docs.breaker.model_copy(
            update={"max_cost_usd": given.get("total", docs.breaker.max_cost_usd)}
        )
        return docs.with_state(adjusted=before.model_copy(update=given)).replacing(breaker=breaker)

    adjusted = project.transact(change).state.adjusted
    assert adjusted is not None
    return adjusted


def adjusted_settings(settings: Settings, adjusted: Adjusted | None) -> Settings:
    if adjusted is None:
        return settings
    given = adjusted.model_dump(exclude_none=True)
    money = {name: usd for name, usd in given.items() if name in CostLimits.model_fields}
    names = {"model": "primary", "planning_model": "planning"}
    models = {ours: given[name] for name, ours in names.items() if name in given}
    building = settings.phases.building
    iterations = given.get("max_iterations", building.max_iterations)
    limits = settings.safety.cost_limits.model_copy(update=money)
    return settings.model_copy(
        update={
            "phases": settings.phases.model_copy(
                update={"building": building.model_copy(update={"max_iterations": iterations})}
            ),
            "safety": settings.safety.model_copy(update={"cost_limits": limits}),
            "models": settings.models.model_copy(update=models),
        }
    )
