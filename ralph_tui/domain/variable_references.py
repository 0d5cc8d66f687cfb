"""Parse `${NAME}` and `${NAME:-default}` in a text, and replace them with values."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_START = re.compile(r"\$?\$\{")
_SHOWN = 60

HOW = "Write ${NAME} or ${NAME:-default}, and $${ for a ${ that stays as it is."


class Reference(NamedTuple):
    """A variable that a text refers to."""

    name: str
    default: str | None = None
    """The value to use when the variable is unset or empty; None without a default."""


class ReferenceSyntaxError(ValueError):
    """A reference that cannot be read; the message says which."""


class UnsetVariableError(ValueError):
    """A variable without a default is not set; the message says which."""


def pieces(text: str) -> tuple[str | Reference, ...]:
    """Split a text into plain parts, with `$${` unescaped to `${`, and references."""
    found: list[str | Reference] = []
    at = 0
    while start := _START.search(text, at):
        if start.start() > at:
            found.append(text[at : start.start()])
        if start.group() == "$${":
            found.append("${")
            at = start.end()
            continue
        at = text.find("}", start.end()) + 1
        shown = text[start.start() : at or None][:_SHOWN]
        if not at:
            raise ReferenceSyntaxError(f"{shown} has no closing brace")
        name, separator, default = text[start.end() : at - 1].partition(":-")
        if not _NAME.fullmatch(name):
            raise ReferenceSyntaxError(f"{shown} is not the name of a variable")
        if "${" in default:
            raise ReferenceSyntaxError(f"{shown} has a reference in its default")
        found.append(Reference(name, default if separator else None))
    if at < len(text):
        found.append(text[at:])
    return tuple(found)


def references(text: str) -> tuple[Reference, ...]:
    return tuple(piece for piece in pieces(text) if isinstance(piece, Reference))


def value_of(reference: Reference, environ: Mapping[str, str]) -> str:
    value = environ.get(reference.name)
    if reference.default is not None:
        return value or reference.default
    if value is None:
        raise UnsetVariableError(f"the environment variable {reference.name} is not set")
    return value


def filled(text: str, value: Callable[[Reference], str]) -> str:
    """Replace each reference in a text with its `value`."""
    if "${" not in text:
        return text
    return "".join(piece if isinstance(piece, str) else value(piece) for piece in pieces(text))
