"""Parses the keys in the settings and checks them against the commands."""

import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from textual.keys import KEY_ALIASES, KEY_NAME_REPLACEMENTS
from textual.keys import Keys as TextualKeys

from ralph_tui.domain.errors import ConfigError
from ralph_tui.present.text.key_hints import Keys, key_label
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS, DEFAULT_KEYS, PAGE_COMMANDS, name_of

_MODIFIERS = ("alt", "ctrl", "shift")
"""In the order in which Textual writes them."""

_NAMED = frozenset(
    {
        name
        for key in TextualKeys
        if (name := key.value.rpartition("+")[2]).isalnum() and len(name) > 1
    }
)
_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
_EQUIVALENT = {alias: key for key, aliases in KEY_ALIASES.items() for alias in aliases} | {
    "ctrl+left_square_bracket": "escape"
}
"""Keys that terminals send as another key's code."""

_MOVES = frozenset(
    ["up", "down", "j", "k", "g", "G", "home", "end", "pageup", "pagedown", "ctrl+u", "ctrl+d"]
)


def parse_key(text: str) -> str:
    """Return Textual's name for a key as a person writes it, such as S, F5, ctrl+b or ?."""
    given = text.strip()
    *modifiers, name = _parts(given)
    held = sorted({modifier.lower() for modifier in modifiers})
    key = _ALIASES.get(name.lower(), name) if len(name) > 1 else _character(name)
    key = key.lower() if key.lower() in _NAMED else key
    if not set(held) <= set(_MODIFIERS) or not _exists(key):
        raise ConfigError(f"screen.keys: unknown key {given!r}.", _suggestion(given))
    if "shift" in held and key not in _NAMED:  # terminals send the resulting character
        held.remove("shift")
        key = _capital(key, given)
    if len(key) == 1 and "ctrl" in held:
        key = key.lower()
    whole = "+".join([*held, key])
    whole = _EQUIVALENT.get(whole, whole)
    _reject_reserved(whole)
    return whole


def _reject_reserved(key: str) -> None:
    if key == "escape":
        raise ConfigError(
            "screen.keys: esc is reserved for closing the top layer.", "Choose another key."
        )
    if key == "ctrl+c":
        raise ConfigError(
            "screen.keys: ctrl+c is reserved for copying and quitting.", "Choose another key."
        )
    if key in _MOVES:
        raise ConfigError(
            f"screen.keys: {key_label(key)} is reserved for moving in lists and texts.",
            "Choose another key.",
        )


def _parts(text: str) -> list[str]:
    return [*filter(None, text[:-1].split("+")), "+"] if text[-1:] == "+" else text.split("+")


def _character(sign: str) -> str:
    if sign.isalnum() or not sign:
        return sign
    name = unicodedata.name(sign, sign).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def _capital(key: str, given: str) -> str:
    if len(key) == len(key.upper()) == 1 and key.upper() != key.lower():
        return key.upper()
    raise ConfigError(
        f"screen.keys: {given!r} depends on the keyboard layout.",
        "Write the character that it types, such as ? or !.",
    )


def _exists(key: str) -> bool:
    if len(key) == 1 or key in _NAMED or key in KEY_NAME_REPLACEMENTS.values():
        return bool(key.strip())
    try:
        return not unicodedata.lookup(key.replace("_", " ")).isalnum()
    except KeyError:
        return False


def _suggestion(given: str) -> str:
    plus = given.replace("-", "+")
    near = [plus] if plus != given else get_close_matches(given.lower(), _NAMED, 1)
    return f"Did you mean {near[0]}?" if near else "Use a key such as space, S, f5 or ctrl+b."


Keymap = Mapping[str, tuple[str, ...]]


NAMES = tuple(DEFAULT_KEYS.of)


def keys_of(keymap: Keymap) -> Keys:
    """Return the keys of all commands, with the person's instead of the defaults."""
    return Keys({**DEFAULT_KEYS.of, **keymap}, DEFAULT_KEYS.within)


def keymap_of(given: Mapping[str, str]) -> Keymap:
    keymap = {name: _keys(name, text) for name, text in given.items()}
    for together in (COMMANDS, *PAGE_COMMANDS.values()):
        _reject_shared(together, keymap)
    return keymap


def _reject_shared(commands: Iterable[Command], keymap: Keymap) -> None:
    owners: dict[str, str] = {}
    for command in commands:
        name = name_of(command)
        for key in keymap.get(name, command.keys):
            other = owners.setdefault(key, name)
            if other != name:
                raise ConfigError(
                    f"screen.keys: {key_label(key)} is assigned to both {other} and {name}.",
                    f"Give {other} or {name} another key.",
                )


def _keys(name: str, text: str) -> tuple[str, ...]:
    if name not in NAMES:
        near = get_close_matches(name, NAMES, 1)
        hint = f"Did you mean {near[0]}?" if near else f"The commands are {', '.join(NAMES)}."
        raise ConfigError(f"screen.keys: unknown command {name!r}.", hint)
    written = (parse_key(key) for key in text.split(",") if key.strip())
    keys = tuple(dict.fromkeys(written))
    if not keys:
        raise ConfigError(
            f"screen.keys: {name} has no key.", "Use a key such as space, S, f5 or ctrl+b."
        )
    return keys
