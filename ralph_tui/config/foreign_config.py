"""Recognize and parse the settings of two other tools, which `ralph config import` translates.

Wiggum (chr1sbest/wiggum) lists its steps in a JSON file, `default.json`. Ralph Hybrid (krazyuniks/ralph-hybrid)
has its own `config.yaml`, which may be at the path where ralph expects its settings.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.sanitize import one_line


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
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each key."""

    def leave_out(self, source: str, reason: str) -> None:
        self.left_out.append(
            UntranslatedKey(key=source, line=self.lines.get(source, 0), reason=reason)
        )


_HYBRID_ONLY = {
    "defaults": {"max_iterations", "timeout_minutes", "rate_limit_per_hour", "prompt_template"},
    "completion": {"promise", "consecutive_done_signals", "consecutive_test_loops"},
    "circuit_breaker": {"no_progress_threshold", "same_error_threshold"},
    "claude": {"dangerously_skip_permissions", "allowed_tools"},
    "branch": {"prefix", "auto_create"},
}
"""Sections and keys that only Ralph Hybrid has."""


def tool_of(value: object) -> ForeignTool | None:
    """Return whose settings a parsed file contains, or None when they are unknown."""
    if not isinstance(value, Mapping):
        return None
    steps = value.get("steps")
    if isinstance(steps, list | tuple) and any(
        isinstance(step, Mapping) and "type" in step for step in steps
    ):
        return ForeignTool.WIGGUM
    if "quality_checks" in value:
        return ForeignTool.HYBRID
    for section, keys in _HYBRID_ONLY.items():
        inside = value.get(section)
        if isinstance(inside, Mapping) and keys & set(map(str, inside)):
            return ForeignTool.HYBRID
    return None


def foreign_form(text: str) -> ForeignTool | None:
    """Return whose settings a text contains, or None when they are unknown or the text cannot be parsed."""
    try:
        return tool_of(parse_foreign(text, Path())[0])
    except ConfigError:
        return None


def parse_foreign(text: str, path: Path) -> tuple[object, Mapping[str, int]]:
    """Parse a file of another tool; return its value, and the line of each key of a YAML file. Errors name `path`."""
    try:
        if text.lstrip().startswith("{"):
            return _json(text), {}
        return plain_yaml(text)
    except json.JSONDecodeError as error:
        what = f"{path}:{error.lineno}: this is not valid JSON: {error.msg}."
        raise ConfigError(what, "Correct the file, then import it again.") from error
    except RecursionError as error:
        raise ConfigError(
            f"{path}: it is nested too deeply.", "Name a settings file of another tool."
        ) from error
    except ValueError as error:
        what = f"{path}: {one_line(str(error), 200)}."
        raise ConfigError(what, "Correct the file, then import it again.") from error


def _json(text: str) -> object:
    """Parse JSON, and refuse duplicate keys, NaN and infinity."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for name, value in pairs:
            if name in found:
                raise ValueError(f"the key {name!r} occurs twice")
            found[name] = value
        return found

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is not a number")

    return json.loads(text, object_pairs_hook=unique, parse_constant=refuse)


_DEPTH = 4


def plain_yaml(text: str) -> tuple[object, Mapping[str, int]]:
    """Parse YAML into strings, lists and mappings; return the value and the line of each key by dotted name."""
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
        if depth > _DEPTH:  # no valid file is this deep, and aliases may be circular
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
