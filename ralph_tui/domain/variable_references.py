"""Read `${NAME}` and `${NAME:-default}` in a text, and put the values of variables in their place."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGINS = re.compile(r"\$?\$\{")
_SHOWN = 60

HOW = "Write ${NAME} or ${NAME:-default}, and $${ for a ${ that stays as it is."


class Reference(NamedTuple):
    """A variable that a text refers to."""

    name: str
    default: str | None = None
    """Replaces a variable that is not set or empty; None: there is none."""


class ReferenceSyntaxError(ValueError):
    """A reference that cannot be read; the message says which."""


class UnsetVariableError(ValueError):
    """A variable without a default is not set; the message says which."""


def pieces(text: str) -> tuple[str | Reference, ...]:
    """Return the parts of a text: plain ones, with `$${` read as `${`, and references.

    Raises:
        ReferenceSyntaxError: A `${` begins no reference.
    """
    found: list[str | Reference] = []
    at = 0
    while begins := _BEGINS.search(text, at):
        if begins.start() > at:
            found.append(text[at : begins.start()])
        if begins.group() == "$${":
            found.append("${")
            at = begins.end()
            continue
        at = text.find("}", begins.end()) + 1
        shown = text[begins.start() : at or None][:_SHOWN]
        if not at:
            raise ReferenceSyntaxError(f"{shown} has no closing brace")
        name, given, default = text[begins.end() : at - 1].partition(":-")
        if not _NAME.fullmatch(name):
            raise ReferenceSyntaxError(f"{shown} is not the name of a variable")
        if "${" in default:
            raise ReferenceSyntaxError(f"{shown} has a reference in its default")
        found.append(Reference(name, default if given else None))
    if at < len(text):
        found.append(text[at:])
    return tuple(found)


def references(text: str) -> tuple[Reference, ...]:
    """Return what a text refers to.

    Raises:
        ReferenceSyntaxError: A `${` begins no reference.
    """
    return tuple(piece for piece in pieces(text) if isinstance(piece, Reference))


def value_of(reference: Reference, environ: Mapping[str, str]) -> str:
    """Return what a reference represents.

    Raises:
        UnsetVariableError: The variable is not set, and there is no default.
    """
    value = environ.get(reference.name)
    if reference.default is not None:
        return value or reference.default
    if value is None:
        raise UnsetVariableError(f"the environment variable {reference.name} is not set")
    return value


def filled(text: str, value: Callable[[Reference], str]) -> str:
    """Return the text with `value` of each reference in its place.

    Raises:
        ReferenceSyntaxError: A `${` begins no reference.
    """
    if "${" not in text:
        return text
    return "".join(piece if isinstance(piece, str) else value(piece) for piece in pieces(text))
