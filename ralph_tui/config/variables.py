"""Expand references such as `${NAME}` in settings to the values of environment variables."""

from collections.abc import Mapping
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
_KEPT_PARTS = ("env", "headers")
"""Parts of a server whose references are kept. The CLI expands them, so that no secret is shown."""


def expanded(entry: Entry, environ: Mapping[str, str]) -> Entry:
    """Return the entry with its variables expanded, and the original text in `written`."""
    if "${" not in str(entry.value):
        return entry
    return replace(
        entry, value=_expanded_value(entry, entry.value, "", environ), written=entry.value
    )


def _expanded_value(entry: Entry, value: object, below: str, environ: Mapping[str, str]) -> object:
    """Return a value with its variables expanded.

    Args:
        below: The dotted name of the part inside the value; empty for the whole value.
    """
    if isinstance(value, Mapping):
        if entry.key.endswith(SERVERS) and below.rpartition(".")[2] in _KEPT_PARTS:
            return value
        return {
            name: _expanded_value(entry, part, f"{below}.{name}".lstrip("."), environ)
            for name, part in value.items()
        }
    if isinstance(value, tuple):
        return tuple(_expanded_value(entry, part, below, environ) for part in value)
    if not isinstance(value, str):
        return value
    where = entry.places.get(below, entry.where)
    about = f"{where}: {entry.key}{f'.{below}' if below else ''}"
    try:
        return filled(value, partial(_public_value, about=about, environ=environ))
    except ReferenceSyntaxError as error:
        raise ConfigError(f"{about}: {redact(str(error))}.", HOW) from error
    except UnsetVariableError as error:
        hint = "Set it, or give it a default: ${NAME:-default}. $${ stays ${, for the shell."
        raise ConfigError(f"{about}: {error}.", hint) from error


def _public_value(reference: Reference, *, about: str, environ: Mapping[str, str]) -> str:
    if is_secret_name(reference.name):
        why = f"${{{reference.name}}} is secret by its name"
    else:
        value = value_of(reference, environ)
        if redact(value) == value:
            return value
        why = f"the value of ${{{reference.name}}} looks like a key or password"
    raise ConfigError(
        f"{about}: {why}. Secrets are allowed only in env and headers of an MCP server.",
        "Settings are shown and kept in files. Have the command read the secret from a file of yours,"
        " or use ${NAME} with a variable that is not secret.",
    )
