"""Change one setting in the text of a settings file, and keep everything else, including comments."""

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent

from pydantic import BaseModel

from ralph_tui.config.template import plain_value, template, yaml_value
from ralph_tui.config.yaml_reader import MAX_BYTES, compose, parse_entries
from ralph_tui.domain.errors import ConfigError

INDENT = "  "


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
    """Return the text with `key` set to `value`. A new setting is added to its section if the section exists."""
    import yaml

    before = {e.key: e.value for e in parse_entries(text, path)}
    root = compose(text) if text.strip() else None
    flow = isinstance(root, yaml.MappingNode) and root.flow_style
    # Only a top-level mapping such as the steps is written as a block; deeper ones stay on one line.
    as_block = not flow and "." not in key and _is_nested(value)
    written = _block_text(value) if as_block else yaml_value(value)
    changed = _with_text(text, root, key.split("."), written)
    after = {e.key: e.value for e in parse_entries(changed, path)}
    others_stay = {k: v for k, v in after.items() if k != key} == {
        k: v for k, v in before.items() if k != key
    }
    if not _reads_back(after.get(key), value) or not others_stay:
        raise ConfigError(
            f"{path}: {key} cannot be changed without changing more than that.",
            f"Write it there yourself: {key.replace('.', ': ')}: {yaml_value(value)}.",
        )
    return changed


def _reads_back(written: object, value: object) -> bool:
    if written is None:
        return False
    if isinstance(value, Mapping):
        return written == _as_read(value)
    return written == value if isinstance(value, str | tuple) else True


def _as_read(value: object) -> object:
    if isinstance(value, BaseModel | Mapping):
        inside = plain_value(value)
        assert isinstance(inside, dict)
        return {name: _as_read(part) for name, part in inside.items()}
    if isinstance(value, tuple | list):
        return tuple(_as_read(part) for part in value)
    return value if isinstance(value, str) else yaml_value(value)


def _is_nested(value: object) -> bool:
    inside = plain_value(value)
    return (
        bool(inside)
        and isinstance(inside, dict)
        and all(isinstance(part, dict) for part in inside.values())
    )


def _block_text(value: object) -> str:
    import yaml

    text = yaml.safe_dump(
        yaml.safe_load(yaml_value(value)),
        default_flow_style=None,
        sort_keys=False,
        allow_unicode=True,
        width=MAX_BYTES,
    )
    return "\n" + indent(text.rstrip(), INDENT)


def _with_text(text: str, root: object, path: list[str], value: str) -> str:
    import yaml

    if not isinstance(root, yaml.MappingNode):
        return _with_appended(text, path, value)
    key_node, found, left = _deepest_match(root, path)
    if found is None:
        return _with_added(text, root, path, value, whole=True)
    if not left:
        return _with_replaced(text, found, value)
    if isinstance(found, yaml.MappingNode):
        return _with_added(text, found, left, value, whole=False)
    assert isinstance(key_node, yaml.Node)  # `models:` with nothing in it yet
    margin = INDENT * (key_node.start_mark.column // len(INDENT) + 1)
    return _with_inserted(
        text, _line_end(text, key_node.end_mark.index), _block(left, value, margin)
    )


def _deepest_match(node: object, path: list[str]) -> tuple[object, object, list[str]]:
    """Return the key node and value node of a setting or its deepest existing section, and the remaining path.

    One key may cover several levels: `models.primary` is `primary` below `models`.
    """
    import yaml

    best: tuple[object, object, list[str]] = (None, None, path)
    for key_node, value in node.value if isinstance(node, yaml.MappingNode) else ():
        parts = str(key_node.value).split(".")
        if path[: len(parts)] != parts:
            continue
        here = (key_node, value, path[len(parts) :])
        below = _deepest_match(value, path[len(parts) :]) if here[2] else here
        found = here if below[1] is None else below
        if best[1] is None or len(found[2]) < len(best[2]):
            best = found
    return best


def _with_replaced(text: str, found: object, value: str) -> str:
    import yaml

    assert isinstance(found, yaml.Node)
    start, end = found.start_mark.index, found.end_mark.index
    space = "" if start and text[start - 1] in " \t\n" else " "
    if value.startswith("\n"):  # the new value begins on the next line
        start, space = len(text[:start].rstrip(" \t")), ""
    if isinstance(found, yaml.CollectionNode) and not found.flow_style:
        # A block starts on its own line, and its end mark is after the comments that follow it.
        # Replace everything from the colon to the end of the last item.
        start, end = text.rindex(":", 0, start) + 1, _end_of(found)
        space = "" if value.startswith("\n") else " "
    return text[:start] + space + value + text[end:]


def _end_of(node: object) -> int:
    import yaml

    assert isinstance(node, yaml.Node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _with_added(text: str, node: object, path: list[str], value: str, *, whole: bool) -> str:
    import yaml

    assert isinstance(node, yaml.MappingNode)
    if node.flow_style:
        start = node.start_mark.index + 1
        nested = value
        for name in reversed(path[1:]):
            nested = f"{{{name}: {nested}}}"
        more = ", " if node.value else ""
        return f"{text[:start]}{path[0]}: {nested}{more}{text[start:]}"
    if whole:
        return _with_appended(text, path, value)
    first = node.value[0][0].start_mark
    lines = _block(path, value, " " * first.column)
    return _with_inserted(text, _above_comments(text, first.index - first.column), lines)


def _above_comments(text: str, start: int) -> int:
    """Return the offset above the comments before `start`, because a comment belongs to the line below it."""
    while start:
        before = text.rfind("\n", 0, start - 1) + 1
        if not text[before:start].lstrip().startswith("#"):
            break
        start = before
    return start


def _with_appended(text: str, path: list[str], value: str) -> str:
    if (at := _below_template_line(text, ".".join(path))) is not None:
        return _with_inserted(text, at, _block([".".join(path)], value, ""))
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + _block(path, value, "")


def _below_template_line(text: str, key: str) -> int | None:
    found = re.search(rf"^# {re.escape(key)}: .*(?:\n|\Z)", text, re.MULTILINE)
    if found is None:
        return None
    after = next((line for line in text[found.end() :].splitlines() if line.strip()), "")
    return None if after[:1].isspace() else found.end()


def _block(path: list[str], value: str, margin: str) -> str:
    *sections, name = path
    lines = [f"{margin}{INDENT * depth}{section}:" for depth, section in enumerate(sections)]
    space = "" if value.startswith("\n") else " "
    return "\n".join([*lines, f"{margin}{INDENT * len(sections)}{name}:{space}{value}"]) + "\n"


def _with_inserted(text: str, at: int, lines: str) -> str:
    missing = "" if at == 0 or text[at - 1] == "\n" else "\n"
    return text[:at] + missing + lines + text[at:]


def _line_end(text: str, index: int) -> int:
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1
