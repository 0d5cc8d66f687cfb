"""Puts the values of environment variables into settings that refer to them by `${NAME}`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from ralph_tui.config.yaml_reader import Entry
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.redaction import is_secret_name, redact
from ralph_tui.domain.variable_references import (
    HOW,
    Reference,
    ReferenceSyntaxError,
    UnsetVariableError,
    filled,
    value_of,
)

SERVERS = ".mcp_servers"
_LATE = ("env", "headers")
"""Parts of a server in which references stay: the CLI fills them in, so that nobody sees a secret."""

WEBHOOK = "notify.webhook"
"""A setting in which references stay: they are filled in when something is sent."""


def expanded(entry: Entry, environ: Mapping[str, str]) -> Entry:
    """Return the entry with the values of its variables; it keeps what was written.

    Raises:
        ConfigError: A variable is not set, is secret, or a reference cannot be read; says in which line.
    """
    if not _refers(entry.value) or entry.key == WEBHOOK:
        return entry
    return replace(entry, value=_filled(entry, entry.value, "", environ), written=entry.value)


def _refers(value: object) -> bool:
    return any("${" in text for text in _texts(value))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)


def _filled(entry: Entry, value: object, below: str, environ: Mapping[str, str]) -> object:
    """Return a value, or the part `below` it, with the values of its variables."""
    if isinstance(value, Mapping):
        if entry.key.endswith(SERVERS) and below.rpartition(".")[2] in _LATE:
            return value
        return {
            name: _filled(entry, part, f"{below}.{name}".lstrip("."), environ)
            for name, part in value.items()
        }
    if isinstance(value, tuple):
        return tuple(_filled(entry, part, below, environ) for part in value)
    if not isinstance(value, str):
        return value
    where = entry.places.get(below, entry.where)
    about = f"{where}: {entry.key}{f'.{below}' if below else ''}"
    try:
        return filled(value, partial(_shown_value, about=about, environ=environ))
    except ReferenceSyntaxError as error:
        raise ConfigError(f"{about}: {redact(str(error))}.", HOW) from error
    except UnsetVariableError as error:
        hint = "Set it, or give it a default: ${NAME:-default}. $${ stays ${, for the shell."
        raise ConfigError(f"{about}: {error}.", hint) from error


def _shown_value(reference: Reference, *, about: str, environ: Mapping[str, str]) -> str:
    """Return a variable's value, which a setting shows on screens and in files.

    Raises:
        ConfigError: It is secret.
    """
    if is_secret_name(reference.name):
        why = f"${{{reference.name}}} is secret by its name"
    else:
        value = value_of(reference, environ)
        if redact(value) == value:
            return value
        why = f"the value of ${{{reference.name}}} looks like a key or password"
    raise ConfigError(
        f"{about}: {why}; secrets may stand in env and headers only, of an MCP server, and in {WEBHOOK}.",
        "Settings are shown and kept in files. Have the command read the secret from a file of yours,"
        " or use ${NAME} with a variable that is no secret.",
    )
