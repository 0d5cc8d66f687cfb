"""Changes one setting in the text of a settings file and leaves everything else, comments included, as it is."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from ralph_tui.config.template import plain_value, template, yaml_value
from ralph_tui.config.yaml_reader import parse_entries
from ralph_tui.domain.errors import ConfigError

INDENT = "  "


OTHER_NUMBERS: Mapping[str, Mapping[str, object]] = {
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
"""What other loops begin with: Ralph Hybrid, and Wiggum, which is written in Go."""


def template_of(name: str) -> str:
    """Return the commented settings file with what another loop begins with, by a name of `OTHER_NUMBERS`."""
    text = template()
    for key, value in OTHER_NUMBERS[name].items():
        text = with_setting(text, key, value, Path("config.yaml"))
    return text


def with_setting(text: str, key: str, value: object, path: Path) -> str:
    """Return the text with `key` set to `value`; a new setting goes into its section where there is one.

    Args:
        text: The settings file; empty for a new one.
        key: The dotted name of a setting.
        value: The new value.
        path: The file, named in errors.

    Raises:
        ConfigError: The file is wrong already, or written in a way that only a person can change.
    """
    import yaml

    before = {e.key: e.value for e in parse_entries(text, path)}
    root = yaml.compose(text, Loader=yaml.SafeLoader) if text.strip() else None
    flow = isinstance(root, yaml.MappingNode) and root.flow_style
    # Lines of their own are for sections at the top, such as the steps; deeper ones stay on one line.
    in_lines = not flow and "." not in key and _has_parts(value)
    written = _lines_of(value) if in_lines else yaml_value(value)
    changed = _changed(text, root, key.split("."), written)
    after = {e.key: e.value for e in parse_entries(changed, path)}
    others_stay = {k: v for k, v in after.items() if k != key} == {
        k: v for k, v in before.items() if k != key
    }
    if not _means(after.get(key), value) or not others_stay:
        raise ConfigError(
            f"{path}: {key} cannot be changed without changing more than that.",
            f"Write it there yourself: {key.replace('.', ': ')}: {yaml_value(value)}.",
        )
    return changed


def _means(written: object, value: object) -> bool:
    """Return whether the value is read back as it was given; numbers and booleans always are."""
    if written is None:
        return False
    if isinstance(value, Mapping):
        return written == as_read(value)
    return written == value if isinstance(value, str | tuple) else True


def as_read(value: object) -> object:
    """Return a value as the file is read: texts, tuples of them, and mappings."""
    if isinstance(value, BaseModel | Mapping):
        inside = plain_value(value)
        assert isinstance(inside, dict)
        return {name: as_read(part) for name, part in inside.items()}
    if isinstance(value, tuple | list):
        return tuple(as_read(part) for part in value)
    return value if isinstance(value, str) else yaml_value(value)


def _has_parts(value: object) -> bool:
    """Return whether a value is a mapping of mappings, such as the steps, which one line would not hold."""
    inside = plain_value(value)
    return (
        bool(inside)
        and isinstance(inside, dict)
        and all(isinstance(part, dict) for part in inside.values())
    )


def _lines_of(value: object) -> str:
    """Return a mapping of mappings with a line for each of its parts."""
    inside = plain_value(value)
    assert isinstance(inside, dict)
    return "".join(f"\n{INDENT}{_bare(name)}: {_bare(part)}" for name, part in inside.items())


_PLAIN = re.compile(r"[A-Za-z./][\w./-]*(?: [\w./-]+)*")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def _bare(value: object) -> str:
    """Return a value on one line, without quotes where none are needed."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_bare(n)}: {_bare(part)}' for n, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_bare, value))}]"
    if not isinstance(value, str):
        return yaml_value(value)
    plain = _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT
    return value if plain else json.dumps(value, ensure_ascii=False)


def _changed(text: str, root: object, path: list[str], value: str) -> str:
    """Replace the value where it is, or add it to the deepest section that is there."""
    import yaml

    if not isinstance(root, yaml.MappingNode):
        return _appended(text, path, value)
    key_node, found, left = _nearest(root, path)
    if found is None:
        return _added(text, root, path, value, whole=True)
    if not left:
        return _replaced(text, found, value)
    if isinstance(found, yaml.MappingNode):
        return _added(text, found, left, value, whole=False)
    assert isinstance(key_node, yaml.Node)  # `models:` with nothing in it yet
    indent = INDENT * (key_node.start_mark.column // len(INDENT) + 1)
    return _insert(text, _line_end(text, key_node.end_mark.index), _block(left, value, indent))


def _nearest(node: object, path: list[str]) -> tuple[object, object, list[str]]:
    """Return the name and the value that lead to a setting or the deepest section of it, and what is left.

    A name may stand for several levels: `models.primary` is `primary` below `models`.
    """
    import yaml

    best: tuple[object, object, list[str]] = (None, None, path)
    for key_node, value in node.value if isinstance(node, yaml.MappingNode) else ():
        parts = str(key_node.value).split(".")
        if path[: len(parts)] != parts:
            continue
        here = (key_node, value, path[len(parts) :])
        below = _nearest(value, path[len(parts) :]) if here[2] else here
        found = here if below[1] is None else below
        if best[1] is None or len(found[2]) < len(best[2]):
            best = found
    return best


def _replaced(text: str, found: object, value: str) -> str:
    import yaml

    assert isinstance(found, yaml.Node)
    start, end = found.start_mark.index, found.end_mark.index
    space = "" if start and text[start - 1] in " \t\n" else " "
    if value.startswith("\n"):  # it begins on the line below
        start, space = len(text[:start].rstrip(" \t")), ""
    if isinstance(found, yaml.CollectionNode) and not found.flow_style:
        # A block begins on a line of its own, and its mark is after the comments that follow
        # it; the new value goes from the colon to the end of the last item.
        start, end = text.rindex(":", 0, start) + 1, _end_of(found)
        space = "" if value.startswith("\n") else " "
    return text[:start] + space + value + text[end:]


def _end_of(node: object) -> int:
    """Return where the last item of a block ends."""
    import yaml

    assert isinstance(node, yaml.Node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end_of(last[1] if isinstance(node, yaml.MappingNode) else last)
    return int(node.end_mark.index)


def _added(text: str, node: object, path: list[str], value: str, *, whole: bool) -> str:
    """Put a setting into a section that has others."""
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
        return _appended(text, path, value)
    first = node.value[0][0].start_mark
    lines = _block(path, value, " " * first.column)
    return _insert(text, _above_comments(text, first.index - first.column), lines)


def _above_comments(text: str, start: int) -> int:
    """Move up past comments, because a comment belongs to the line below it."""
    while start:
        before = text.rfind("\n", 0, start - 1) + 1
        if not text[before:start].lstrip().startswith("#"):
            break
        start = before
    return start


def _appended(text: str, path: list[str], value: str) -> str:
    if (at := _below_template_line(text, ".".join(path))) is not None:
        return _insert(text, at, _block([".".join(path)], value, ""))
    end = "" if not text or text.endswith("\n") else "\n"
    return text + end + _block(path, value, "")


def _below_template_line(text: str, key: str) -> int | None:
    """Return the place below the commented line of a setting, where no section surrounds it."""
    found = re.search(rf"^# {re.escape(key)}: .*(?:\n|\Z)", text, re.MULTILINE)
    if found is None:
        return None
    after = next((line for line in text[found.end() :].splitlines() if line.strip()), "")
    return None if after[:1].isspace() else found.end()


def _block(path: list[str], value: str, indent: str) -> str:
    *sections, name = path
    lines = [f"{indent}{INDENT * depth}{section}:" for depth, section in enumerate(sections)]
    space = "" if value.startswith("\n") else " "
    return "\n".join([*lines, f"{indent}{INDENT * len(sections)}{name}:{space}{value}"]) + "\n"


def _insert(text: str, at: int, lines: str) -> str:
    missing = "" if at == 0 or text[at - 1] == "\n" else "\n"
    return text[:at] + missing + lines + text[at:]


def _line_end(text: str, index: int) -> int:
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1
