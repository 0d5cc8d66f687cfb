"""Read a settings file as a flat list of entries with their line numbers.

Scalars stay text until pydantic converts them to numbers and booleans. So `python_version: 3.10` does not
become 3.1, and files and environment variables are parsed alike.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ralph_tui.config.setting_names import children, is_mapping, known_keys, nearest, sections
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.sanitize import one_line

MAX_BYTES = 1_000_000
MOST_NESTED = 1_000

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


def unknown_setting(key: str, where: str) -> ConfigError:
    if gone := GONE.get(key):
        return ConfigError(f"{where}: {key} is no longer a setting.", gone.hint)
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
    if not text.strip():
        return ()
    import yaml

    try:
        node = compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = one_line(error.problem or error.context or "it cannot be parsed")
        raise ConfigError(
            f"{where}: this is not valid YAML: {problem}.", "Correct the line or delete the file."
        ) from error
    except (yaml.YAMLError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(
            f"{path}: this is not valid YAML: {one_line(why)}.", "Correct or delete the file."
        ) from error
    try:
        return tuple(_section_entries(node, "", path, {})) if node is not None else ()
    except ConfigError as error:
        from ralph_tui.config.foreign_config import foreign_form  # needed only after an error

        if form := foreign_form(text):
            hint = f"These look like the {form}: `ralph config import {path}` translates them."
            raise ConfigError(error.message, hint) from error
        raise


def compose(text: str) -> object:
    import yaml

    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    may_be_deep = sum(map(text.count, "[{-?")) > MOST_NESTED  # on which the C loader crashes
    return yaml.compose(text, Loader=yaml.SafeLoader if may_be_deep else fast)


def read_text(path: Path) -> str:
    """Return the text of a settings file, or an empty string when it does not exist."""
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
    node: object, section: str, path: Path, seen: dict[str, int]
) -> Iterator[Entry]:
    """Yield the entries of one mapping node. The known sections limit the depth.

    Args:
        seen: The line of each setting so far. `a.b` and `b` below `a` are the same setting.
    """
    import yaml

    assert isinstance(node, yaml.Node)
    where = f"{path}:{node.start_mark.line + 1}"
    if _is_empty(node):
        return
    if not isinstance(node, yaml.MappingNode):
        name = f"{section!r}" if section else "The file"
        raise ConfigError(
            f"{where}: {name} must hold settings, one `name: value` per line.",
            f"Known there: {', '.join(children(section))}.",
        )
    here_seen: dict[str, int] = {}
    for key_node, value in node.value:
        line = key_node.start_mark.line + 1
        name = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
        key = f"{section}.{name}" if section else str(name)
        here = f"{path}:{line}"
        known = here_seen if key in sections() else seen
        if key in known:
            raise ConfigError(
                f"{here}: {key!r} is set twice, first in line {known[key]}.", "Remove one of them."
            )
        known[key] = line
        if key in sections() and key:
            yield from _section_entries(value, key, path, seen)
        elif key in GONE and str(value.value).casefold() in GONE[key].always:
            continue
        elif key not in known_keys():
            raise unknown_setting(key, here)
        elif not _is_empty(value):
            yield _entry(value, key, path, here)


def _entry(value: object, key: str, path: Path, here: str) -> Entry:
    import yaml

    if is_mapping(key):
        places: dict[str, str] = {}
        return Entry(key, _mapping_value(value, key, path, places), here, places)
    if key in NAMED_LISTS and isinstance(value, yaml.MappingNode):
        named = _mapping_value(value, key, path, {})
        assert isinstance(named, dict)
        return Entry(key, tuple(named.values()), here)
    return Entry(key, _scalar_or_list(value, key, path), here)


def _is_empty(node: object) -> bool:
    import yaml

    return isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")


def _mapping_value(
    node: object, key: str, path: Path, places: dict[str, str], below: str = ""
) -> object:
    """Return a mapping value, and record the line of each part in `places`."""
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return "" if _is_empty(node) else _scalar_or_list(node, f"{key}.{below}".rstrip("."), path)
    found: dict[str, object] = {}
    for key_node, value in node.value:
        name = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
        part = f"{below}.{name}" if below else name
        here = f"{path}:{key_node.start_mark.line + 1}"
        if name in found:
            raise ConfigError(f"{here}: {key}.{part} is set twice.", "Remove one of them.")
        places[part] = here
        found[name] = _mapping_value(value, key, path, places, part)
    return found


def _scalar_or_list(node: object, key: str, path: Path) -> str | tuple[str, ...]:
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.SequenceNode) and all(
        isinstance(item, yaml.ScalarNode) for item in node.value
    ):
        return tuple(str(item.value) for item in node.value)
    assert isinstance(node, yaml.Node)
    raise ConfigError(
        f"{path}:{node.start_mark.line + 1}: {key} must be one value or a list of values.",
        "`ralph config show` lists every setting with its value.",
    )
