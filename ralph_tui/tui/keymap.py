"""Keys that a person gave to commands in the settings, held against the commands there are."""

from collections.abc import Mapping
from difflib import get_close_matches

from ralph_tui.domain.errors import ConfigError
from ralph_tui.tui.commands import BY_NAME, COMMANDS

Keymap = Mapping[str, tuple[str, ...]]


def keymap_of(given: Mapping[str, str]) -> Keymap:
    """The keys of the commands that were given others.

    Raises:
        ConfigError: There is no such command, it has no key, or two commands share one.
    """
    keymap = {name: _keys(name, text) for name, text in given.items()}
    owners: dict[str, str] = {}
    for command in COMMANDS:
        for key in keymap.get(command.name, command.keys):
            other = owners.setdefault(key, command.name)
            if other != command.name:
                raise ConfigError(
                    f"screen.keys: {key} would mean both {other} and {command.name}.",
                    f"Give {other} or {command.name} another key.",
                )
    return keymap


def _keys(name: str, text: str) -> tuple[str, ...]:
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, 1)
        hint = f"Did you mean {near[0]}?" if near else f"The commands are {', '.join(BY_NAME)}."
        raise ConfigError(f"screen.keys: there is no command {name!r}.", hint)
    keys = tuple(key.strip() for key in text.split(",") if key.strip())
    if not keys:
        raise ConfigError(
            f"screen.keys: {name} has no key.", "Name one such as space, S, f5 or ctrl+b."
        )
    return keys
