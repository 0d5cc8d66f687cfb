"""Keys that a person gave to commands in the settings, held against the commands there are."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from ralph_tui.domain.errors import ConfigError
from ralph_tui.tui.command import Command
from ralph_tui.tui.commands import COMMANDS, DEFAULT_KEYS
from ralph_tui.tui.key_names import key_written
from ralph_tui.tui.keys import Keys, key_label
from ralph_tui.tui.page_commands import PAGE_COMMANDS, name_of

Keymap = Mapping[str, tuple[str, ...]]


NAMES = tuple(DEFAULT_KEYS.of)


def keys_of(keymap: Keymap) -> Keys:
    """The keys of all commands, with those that were given others."""
    return Keys({**DEFAULT_KEYS.of, **keymap})


def keymap_of(given: Mapping[str, str]) -> Keymap:
    """The keys of the commands that were given others.

    Raises:
        ConfigError: There is no such command or key, it has none, or two commands share one.
    """
    keymap = {name: _keys(name, text) for name, text in given.items()}
    for together in (COMMANDS, *PAGE_COMMANDS.values()):
        _refuse_shared(together, keymap)
    return keymap


def _refuse_shared(commands: Iterable[Command], keymap: Keymap) -> None:
    """A page's key may be one of the app's, which is the page's then while it is open."""
    owners: dict[str, str] = {}
    for command in commands:
        name = name_of(command)
        for key in keymap.get(name, command.keys):
            other = owners.setdefault(key, name)
            if other != name:
                raise ConfigError(
                    f"screen.keys: {key_label(key)} would mean both {other} and {name}.",
                    f"Give {other} or {name} another key.",
                )


def _keys(name: str, text: str) -> tuple[str, ...]:
    if name not in NAMES:
        near = get_close_matches(name, NAMES, 1)
        hint = f"Did you mean {near[0]}?" if near else f"The commands are {', '.join(NAMES)}."
        raise ConfigError(f"screen.keys: there is no command {name!r}.", hint)
    written = (key_written(key) for key in text.split(",") if key.strip())
    keys = tuple(dict.fromkeys(written))
    if not keys:
        raise ConfigError(
            f"screen.keys: {name} has no key.", "Name one such as space, S, f5 or ctrl+b."
        )
    return keys
