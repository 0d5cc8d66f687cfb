"""Settings of older files that nobody has to choose: they load, with one notice that says what to do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ralph_tui.domain.errors import ConfigError


class Retired(NamedTuple):
    """A setting that is gone.

    Attributes:
        values: What it could be set to, in lower case.
        why: Why there is nothing to choose.
        hint: What to do.
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
        "the agent works in the directory that holds .ralph",
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
        "safety.sandbox says the same",
        "Delete the line. Write `safety.sandbox: off` to work without a sandbox.",
    ),
}  # fmt: skip
"""The settings that are gone, by their names."""


class OldEntry(NamedTuple):
    """A retired setting as a file has it."""

    key: str
    value: str
    where: str


def check_retired(key: str, value: object, where: str) -> OldEntry:
    """Return a retired setting whose value means what holds now.

    Raises:
        ConfigError: The value asks for something that cannot be had.
    """
    gone = RETIRED[key]
    text = str(value).casefold()
    if text and text not in gone.values:
        raise ConfigError(f"{where}: {key} is no longer a setting, because {gone.why}.", gone.hint)
    return OldEntry(key, text, where)


def switches_sandbox_off(old: OldEntry) -> bool:
    """Return whether an old entry represents `safety.sandbox: off`."""
    return old.key == SANDBOX_SWITCH and old.value in _FALSE


def notice_of(found: Sequence[OldEntry], short: Callable[[str], str]) -> str:
    """Say in one notice what the files still have and what to do; empty where they have nothing old.

    Args:
        found: The entries, with the files' lines.
        short: Shortens a place.
    """
    if not found:
        return ""
    listed = _and(f"{old.key} ({short(old.where)})" for old in found)
    one = len(found) == 1
    text = (
        f"{listed} {'is no longer a setting' if one else 'are no longer settings'}."
        f" Delete the {'line' if one else 'lines'}."
    )
    if any(map(switches_sandbox_off, found)):
        text += f" To keep the sandbox off, write `{SANDBOX}: off` instead."
    return text


def _and(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
