"""Accept removed settings in older files, with one notice that says what to do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ralph_tui.domain.errors import ConfigError


class Retired(NamedTuple):
    """A removed setting.

    Attributes:
        values: The values that still load, in lower case.
    """

    values: frozenset[str]
    why: str
    hint: str


_TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
_FALSE = frozenset({"false", "no", "off", "0", "n", "f"})

SANDBOX_SWITCH = "safety.sandbox_enabled"
SANDBOX = "safety.sandbox"

RETIRED: Mapping[str, Retired] = {
    "project.root": Retired(
        frozenset({".", "./"}),
        "the agent works in the directory that contains .ralph",
        "Delete the line. To work elsewhere, run `ralph init` there.",
    ),
    "build.tool": Retired(
        frozenset({"uv"}),
        "ralph finds the tools of each project itself",
        "Delete the line. build.test_command and its neighbors name other commands.",
    ),
    "git.read_only": Retired(
        _TRUE,
        "an agent never writes to git",
        "Delete the line. git.commit lets ralph commit the work itself.",
    ),
    SANDBOX_SWITCH: Retired(
        _TRUE | _FALSE,
        "safety.sandbox replaces it",
        "Delete the line. Write `safety.sandbox: off` to work without a sandbox.",
    ),
}  # fmt: skip
"""The removed settings by name."""


class RetiredEntry(NamedTuple):
    """A removed setting found in a file."""

    key: str
    value: str
    where: str


def check_retired(key: str, value: object, where: str) -> RetiredEntry:
    """Return a removed setting whose value matches the current behavior.

    Raises:
        ConfigError: The value asks for behavior that no longer exists.
    """
    gone = RETIRED[key]
    text = str(value).casefold()
    if text and text not in gone.values:
        raise ConfigError(f"{where}: {key} is no longer a setting, because {gone.why}.", gone.hint)
    return RetiredEntry(key, text, where)


def switches_sandbox_off(old: RetiredEntry) -> bool:
    return old.key == SANDBOX_SWITCH and old.value in _FALSE


def retirement_notice(found: Sequence[RetiredEntry], short: Callable[[str], str]) -> str:
    """Return a notice that lists the removed settings, or an empty string when there are none."""
    if not found:
        return ""
    listed = _joined(f"{old.key} ({short(old.where)})" for old in found)
    one = len(found) == 1
    text = (
        f"{listed} {'is no longer a setting' if one else 'are no longer settings'}."
        f" Delete the {'line' if one else 'lines'}."
    )
    if any(map(switches_sandbox_off, found)):
        text += f" To keep the sandbox off, write `{SANDBOX}: off` instead."
    return text


def _joined(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
