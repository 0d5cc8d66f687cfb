"""Recognizes and reads the settings of two other loops, which `ralph config import` translates.

Wiggum (chr1sbest/wiggum) lists its steps in a JSON file, `default.json`. Ralph Hybrid (krazyuniks/ralph-hybrid) has
a `config.yaml` of its own, which may stand where ralph expects its settings.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ralph_tui.config.setting_names import known_keys
from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.sanitize import one_line


class ForeignForm(StrEnum):
    """Whose settings a file holds; the values are what people read."""

    WIGGUM = "steps of Wiggum"
    HYBRID = "settings of Ralph Hybrid"


Value = str | int | float | tuple[str, ...]


class LeftKey(Model):
    """A setting that is not taken over."""

    key: str
    line: int = 0
    """0 where the file is JSON, whose keys name their place."""
    reason: str


class ForeignConfig(Model):
    """What a file of another loop means here."""

    form: ForeignForm
    settings: dict[str, Value]
    """Values by the dotted names of ralph's settings."""
    steps: dict[str, dict[str, object]]
    """Steps as they stand in ralph's settings; empty: the file has none."""
    commands: dict[str, str]
    """Every shell command that the file brings in, by what it is for."""
    left_out: tuple[LeftKey, ...]
    markers: dict[str, tuple[str, ...]]
    """Files, relative to the project, that say that a step was done, by step."""
    remarks: tuple[str, ...]


_NOT_HERE = "this ralph has no such setting"


@dataclass
class Translation:
    """Collects what a file means; private to one reading."""

    form: ForeignForm
    settings: dict[str, Value] = field(default_factory=dict)
    steps: dict[str, dict[str, object]] = field(default_factory=dict)
    commands: dict[str, str] = field(default_factory=dict)
    left_out: list[LeftKey] = field(default_factory=list)
    markers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    lines: Mapping[str, int] = field(default_factory=dict)
    """Where each key is."""

    def take(self, source: str, key: str, value: Value) -> None:
        """Take a value over into the setting `key`, if there is one."""
        if key in known_keys():
            self.settings[key] = value
        else:
            self.leave(source, _NOT_HERE)

    def leave(self, source: str, reason: str) -> None:
        """Leave a key out, with the reason."""
        self.left_out.append(LeftKey(key=source, line=self.lines.get(source, 0), reason=reason))

    @property
    def result(self) -> ForeignConfig:
        """All of it."""
        return ForeignConfig(
            form=self.form,
            settings=self.settings,
            steps=self.steps,
            commands=self.commands,
            left_out=tuple(self.left_out),
            markers=self.markers,
            remarks=tuple(self.remarks),
        )


_HYBRID_ONLY = {
    "defaults": {"max_iterations", "timeout_minutes", "rate_limit_per_hour", "prompt_template"},
    "completion": {"promise", "consecutive_done_signals", "consecutive_test_loops"},
    "circuit_breaker": {"no_progress_threshold", "same_error_threshold"},
    "claude": {"dangerously_skip_permissions", "allowed_tools"},
    "branch": {"prefix", "auto_create"},
}
"""Sections and keys that only Ralph Hybrid has."""


def form_of(value: object) -> ForeignForm | None:
    """Tell whose settings a parsed file holds; None: nobody's that is known."""
    if not isinstance(value, Mapping):
        return None
    steps = value.get("steps")
    if isinstance(steps, list | tuple) and any(
        isinstance(step, Mapping) and "type" in step for step in steps
    ):
        return ForeignForm.WIGGUM
    if "quality_checks" in value:
        return ForeignForm.HYBRID
    for section, keys in _HYBRID_ONLY.items():
        inside = value.get(section)
        if isinstance(inside, Mapping) and keys & set(map(str, inside)):
            return ForeignForm.HYBRID
    return None


def foreign_form(text: str) -> ForeignForm | None:
    """Tell whose settings a text holds; None where it cannot be parsed."""
    try:
        return form_of(_json(text) if text.lstrip().startswith("{") else plain_yaml(text)[0])
    except (ValueError, RecursionError, ConfigError):
        return None


def parse_foreign(text: str, path: Path) -> tuple[object, Mapping[str, int]]:
    """Parse a file of another loop; returns its value, and the line of each key of a YAML file.

    Raises:
        ConfigError: It is neither JSON nor YAML, or says something twice.
    """
    try:
        if text.lstrip().startswith("{"):
            return _json(text), {}
        return plain_yaml(text)
    except json.JSONDecodeError as error:
        what = f"{path}:{error.lineno}: this is not valid JSON: {error.msg}."
        raise ConfigError(what, "Correct the file, then import it again.") from error
    except RecursionError as error:
        raise ConfigError(
            f"{path}: it is nested too deeply.", "Name a settings file of another loop."
        ) from error
    except ValueError as error:
        what = f"{path}: {one_line(str(error), 200)}."
        raise ConfigError(what, "Correct the file, then import it again.") from error


def _json(text: str) -> object:
    """Parse JSON; a key that is there twice and a number that is none are mistakes.

    Raises:
        ValueError: It is not JSON.
    """

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"the key {name!r} is there twice")
            found[name] = value
        return found

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is not a number")

    return json.loads(text, object_pairs_hook=once, parse_constant=refuse)


_DEPTH = 4


def plain_yaml(text: str) -> tuple[object, Mapping[str, int]]:
    """Parse YAML into texts, lists and mappings; returns it with the line of each key by dotted name.

    Raises:
        ValueError: It is not YAML, or has a key twice.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"this is not valid YAML{where}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise ValueError(f"this is not valid YAML: {error}") from error
    lines: dict[str, int] = {}

    def plain(node: object, place: str, depth: int) -> object:
        if isinstance(node, yaml.ScalarNode):
            return "" if node.tag.endswith(":null") else str(node.value)
        if depth > _DEPTH:  # nothing of theirs is so deep, and an anchor may lead in a circle
            return ""
        if isinstance(node, yaml.SequenceNode):
            return [plain(item, f"{place}[{n}]", depth + 1) for n, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            return ""
        found: dict[str, object] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            whole = f"{place}.{name}" if place else name
            if name in found:
                raise ValueError(f"{whole!r} is set twice in line {key.start_mark.line + 1}")
            lines[whole] = key.start_mark.line + 1
            found[name] = plain(value, whole, depth + 1)
        return found

    return plain(root, "", 0), lines
