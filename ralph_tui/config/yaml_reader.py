"""Read a settings file as a flat list of entries with their line numbers.

Scalars stay text until pydantic converts them to numbers and booleans. So `python_version: 3.10` does not
become 3.1, and files and environment variables are parsed alike.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ralph_tui.config.setting_names import children, is_mapping, known_keys, nearest, sections
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.sanitize import one_line

MAX_BYTES = 1_000_000
MOST_NESTED = 1_000
MOST_VALUES = 100_000

NAMED_LISTS = frozenset({"phases.building.backpressure"})
"""Lists that may also be written as a mapping, with a name for each item."""


class FormerSetting(NamedTuple):
    """A setting that never had an effect: the values that say what ralph always does, and what to do about others."""

    always: tuple[str, ...]
    hint: str


GONE: Mapping[str, FormerSetting] = {
    "project.root": FormerSetting((".", "./"), "To work elsewhere, run `ralph init` there."),
    "build.tool": FormerSetting(
        ("uv",), "build.test_command and its neighbors name other commands."
    ),
    "git.read_only": FormerSetting(("true",), "git.commit lets ralph commit the work itself."),
    "safety.sandbox_enabled": FormerSetting(
        ("true",), "Write `safety.sandbox: off`, `auto` or `required`."
    ),
}


@dataclass(frozen=True)
class Entry:
    """A setting's value and where it was set."""

    key: str
    value: object
    where: str
    """As `ralph config show` prints it: `/path/config.yaml:12`, a variable, `command line`."""
    places: Mapping[str, str] = field(default_factory=dict)
    """The locations of the parts of a mapping value, by dotted name below the key."""
    written: object = None
    """The unexpanded value from the file, if it refers to variables."""


OTHER_NAMES: Mapping[str, str] = {
    "defaults.max_iterations": "phases.building.max_iterations",
    "defaults.timeout_minutes": "phases.building.iteration_timeout_seconds",
    "defaults.rate_limit_per_hour": "limits.rate_limit_per_hour",
    "circuit_breaker.no_progress_threshold": "circuit_breaker.max_stagnation_iterations",
    "circuit_breaker.same_error_threshold": "circuit_breaker.max_same_error",
    "completion.promise": "phases.building.promise",
    "completion.consecutive_test_loops": "circuit_breaker.max_tests_only",
    "quality_checks": "phases.building.backpressure",
    "branch.prefix": "git.branch_prefix",
    "branch.auto_create": "git.branch",
    "max_loops_per_task": "limits.max_iterations_per_task",
}
"""What Ralph Hybrid and Wiggum call a setting."""


def unknown_setting(key: str, where: str, value: object = None) -> ConfigError:
    if gone := GONE.get(key):
        return ConfigError(f"{where}: {key} is no longer a setting.", gone.hint)
    parts = [f"{key}.{name}" for name in value] if isinstance(value, Mapping) else []
    if others := [name for name in (key, *parts) if name in OTHER_NAMES]:
        hint = ", ".join(f"{name} is {OTHER_NAMES[name]}" for name in others)
        return ConfigError(f"{where}: unknown setting {one_line(key, 80)!r}.", f"Here, {hint}.")
    found = None if key in sections() else nearest(key)
    section = key if key in sections() else key.rpartition(".")[0]
    if found:
        hint = f"Did you mean {found!r}?"
    elif section in sections():
        place = f"in {section!r}" if section else "at the top level"
        hint = f"Known {place}: {', '.join(children(section))}."
    else:
        hint = "`ralph config show` lists every setting."
    return ConfigError(f"{where}: unknown setting {one_line(key, 80)!r}.", hint)


def read_entries(path: Path) -> tuple[Entry, ...]:
    """Read the settings in a YAML file. A missing file has none."""
    return parse_entries(read_text(path), path)


def parse_entries(text: str, path: Path) -> tuple[Entry, ...]:
    """Read the settings in the text of a YAML file. Errors name `path`."""
    value, lines = _parsed(text, path)
    return tuple(_section_entries(value, "", path, lines))


def _parsed(text: str, path: Path) -> tuple[object, Mapping[str, int]]:
    """Parse YAML into texts, None, tuples and mappings; also return the line of each key by dotted name."""
    if not text.strip():
        return None, {}
    import yaml

    lines: dict[str, int] = {}
    nodes = count()

    def plain(node: object, place: str) -> object:
        if next(nodes) > MOST_VALUES:  # aliases may repeat a part without end
            raise ConfigError(f"{path}: it has too many values.", "Name a file of settings.")
        if isinstance(node, yaml.SequenceNode):
            return tuple(plain(item, f"{place}[{n}]") for n, item in enumerate(node.value))
        if isinstance(node, yaml.ScalarNode):
            return None if node.tag.endswith(":null") else str(node.value)
        found: dict[str, object] = {}
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            whole, line = f"{place}.{name}".lstrip("."), key.start_mark.line + 1
            # `a.b` and `b` below `a` are the same setting. A section may be written in both ways.
            if name in found or (whole in lines and not isinstance(value, yaml.MappingNode)):
                what = f"{path}:{line}: {whole!r} is set twice, first in line {lines[whole]}."
                raise ConfigError(what, "Remove one of them.")
            lines[whole] = line
            found[name] = plain(value, whole)
        return found

    try:
        root = compose(text)
        return None if root is None else plain(root, ""), lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = one_line(error.problem or error.context or "it cannot be parsed")
        raise ConfigError(
            f"{where}: this is not valid YAML: {problem}.", "Correct this line."
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(
            f"{path}: this is not valid YAML: {one_line(why)}.", "Correct the file."
        ) from error


def compose(text: str) -> object:
    import yaml

    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    may_be_deep = sum(map(text.count, "[{-?")) > MOST_NESTED  # on which the C loader crashes
    return yaml.compose(text, Loader=yaml.SafeLoader if may_be_deep else fast)


def read_text(path: Path) -> str:
    try:
        data = _read_bytes(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return ""
        raise _unreadable(path, error.strerror or str(error)) from error
    if len(data) > MAX_BYTES:
        raise _unreadable(path, f"it is larger than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"it is not UTF-8 (at byte {error.start})") from error


def _read_bytes(path: Path) -> bytes:
    # Opening a FIFO must not block, so the file type is checked afterwards.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unreadable(path, "it is not a regular file")
        return os.read(descriptor, MAX_BYTES + 1)
    finally:
        os.close(descriptor)


def _unreadable(path: Path, why: str) -> ConfigError:
    return ConfigError(
        f"The settings file {path} cannot be read: {why}.",
        "Make it a readable YAML file or remove it.",
    )


def _section_entries(
    value: object, section: str, path: Path, lines: Mapping[str, int]
) -> Iterator[Entry]:
    """Yield the entries of one section. The known sections limit the depth."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        name = f"{section!r}" if section else "The file"
        raise ConfigError(
            f"{path}:{lines.get(section, 1)}: {name} must hold settings, one `name: value` per line.",
            f"Known there: {', '.join(children(section))}.",
        )
    for name, part in value.items():
        key = f"{section}.{name}".lstrip(".")
        here = f"{path}:{lines[key]}"
        if key in sections() and key:
            yield from _section_entries(part, key, path, lines)
        elif key in GONE and str(part).casefold() in GONE[key].always:
            continue
        elif key not in known_keys():
            raise unknown_setting(key, here, part)
        elif part is not None:
            yield _entry(part, key, path, lines)


def _entry(value: object, key: str, path: Path, lines: Mapping[str, int]) -> Entry:
    where = f"{path}:{lines[key]}"
    named = key in NAMED_LISTS and isinstance(value, Mapping)
    found = _checked(value, key, path, lines, may_have_parts=named or is_mapping(key))
    if not isinstance(found, dict):
        return Entry(key, found, where)
    if named:
        return Entry(key, tuple(found.values()), where)
    inside = (whole for whole in lines if whole.startswith(f"{key}."))
    places = {whole.removeprefix(f"{key}."): f"{path}:{lines[whole]}" for whole in inside}
    return Entry(key, found, where, places)


def _checked(
    value: object, key: str, path: Path, lines: Mapping[str, int], *, may_have_parts: bool
) -> object:
    """Return the value of a key. Its lists may hold only texts."""
    if isinstance(value, Mapping) and may_have_parts:
        return {
            name: _checked(part, f"{key}.{name}", path, lines, may_have_parts=True)
            for name, part in value.items()
        }
    if isinstance(value, tuple) and all(isinstance(item, str | None) for item in value):
        return tuple(item or "" for item in value)
    if isinstance(value, str | None):
        return value or ""
    raise ConfigError(
        f"{path}:{lines[key]}: {key} must be one value or a list of values.",
        "`ralph config show` lists every setting with its value.",
    )
