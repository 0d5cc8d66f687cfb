"""Change one setting in the text of a settings file, and keep everything else, including comments."""

import re
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.config.template import template, yaml_value
from ralph_tui.config.yaml_reader import compose, parse_entries
from ralph_tui.domain.errors import ConfigError

OTHER_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "hybrid": {
        "phases.building.max_iterations": 20,
        "phases.building.iteration_timeout_seconds": 900,
        "limits.rate_limit_per_hour": 100,
        "circuit_breaker.max_stagnation_iterations": 3,
        "circuit_breaker.max_same_error": 5,
        "circuit_breaker.max_tests_only": 3,
    },
    "go": {
        "phases.building.iteration_timeout_seconds": 900,
        "limits.max_iterations_per_task": 10,
        "steps": {"work": {}, "update-docs": {"type": "readme-check", "continue_on_error": True}},
    },
}
"""Settings that other tools use by default: Ralph Hybrid, and Wiggum, which is written in Go."""


def template_of(name: str) -> str:
    """Return the commented settings file with the defaults of another tool, named as in `OTHER_DEFAULTS`."""
    text = template()
    for key, value in OTHER_DEFAULTS[name].items():
        text = with_setting(text, key, value, Path("config.yaml"))
    return text


def with_setting(text: str, key: str, value: object, path: Path) -> str:
    """Return the text with `key` set to `value`. A new setting gets a line of its own."""
    before = {e.key: e.value for e in parse_entries(text, path)}
    root = compose(text) if text.strip() else None
    changed = _with_text(text, root, key, yaml_value(value))
    after = {e.key: e.value for e in parse_entries(changed, path)}
    wanted = {e.key: e.value for e in parse_entries(f"{key}: {yaml_value(value)}", path)}
    is_other = isinstance(value, str | tuple) and after.get(key) != value
    if is_other or after != before | wanted:
        raise ConfigError(
            f"{path}: {key} cannot be changed without changing more than that.",
            f"Write it there yourself: {key.replace('.', ': ')}: {yaml_value(value)}.",
        )
    return changed


def _with_text(text: str, root: object, key: str, value: str) -> str:
    """Replace the value where the setting is; otherwise add a line with its whole name."""
    import yaml

    if (found := _value_node(root, key)) is not None:
        return _with_replaced(text, found, value)
    if isinstance(root, yaml.MappingNode) and root.flow_style:
        start = root.start_mark.index + 1
        return f"{text[:start]}{key}: {value}{', ' if root.value else ''}{text[start:]}"
    at = _below_template_line(text, key)
    before, after = (text, "") if at is None else (text[:at], text[at:])
    end = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{end}{key}: {value}\n{after}"


def _value_node(node: object, key: str) -> object:
    """Return the value of a setting, or None. One key may cover several levels, as `models.primary` does."""
    import yaml

    for key_node, value in node.value if isinstance(node, yaml.MappingNode) else ():
        name = str(key_node.value)
        if name == key:
            return value
        if key.startswith(f"{name}.") and (found := _value_node(value, key[len(name) + 1 :])):
            return found
    return None


def _with_replaced(text: str, found: object, value: str) -> str:
    import yaml

    assert isinstance(found, yaml.Node)
    start, end = found.start_mark.index, found.end_mark.index
    space = "" if start and text[start - 1] in " \t\n" else " "
    if isinstance(found, yaml.CollectionNode) and not found.flow_style:
        # A block starts on its own line, and its end mark is after the comments that follow it.
        # Replace everything from the colon to the end of the last item.
        start, end = text.rindex(":", 0, start) + 1, _end_of(found)
        space = " "
    return text[:start] + space + value + text[end:]


def _end_of(node: object) -> int:
    import yaml

    assert isinstance(node, yaml.Node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _below_template_line(text: str, key: str) -> int | None:
    found = re.search(rf"^# {re.escape(key)}: .*(?:\n|\Z)", text, re.MULTILINE)
    if found is None:
        return None
    after = next((line for line in text[found.end() :].splitlines() if line.strip()), "")
    return None if after[:1].isspace() else found.end()
