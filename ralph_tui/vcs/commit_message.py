"""Writes commit messages from text that nobody can trust: task titles may come from anywhere. Pure."""

import re
from collections.abc import Mapping

from ralph_tui.domain.sanitize import inert, one_line

SUBJECT = 120
"""The most characters of a commit's first line."""

MOST_MESSAGE = 16_000
"""The most characters of a message that a hook has written."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TRAILER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*[ \t]*[:=#]|\(cherry picked from commit")
_OWN = re.compile(r"(?im)^[ \t]*Ralph-[A-Za-z]+[ \t]*:.*\n?")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template; what is filled in is one inert line and cannot begin a trailer.

    Args:
        template: The person's own text, with `{name}` for each value.
        values: The value of each name; a name that is not here stays as it is.
    """
    lines = []
    for number, line in enumerate(template.strip().splitlines()):
        made = _PLACEHOLDER.sub(lambda m: one_line(inert(values.get(m[1], m[0]))), line).rstrip()
        if number and made != line and _TRAILER.match(made):
            made = f"  {made}"  # indented, a line of the body is no trailer
        lines.append(made)
    subject = one_line(lines[0], SUBJECT) if lines else ""
    return "\n".join([subject or "Work of ralph", *lines[1:]]).strip()


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    """Return the message with these trailers as its last paragraph."""
    lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value.strip()]
    return "\n\n".join([message.strip(), "\n".join(lines)] if lines else [message.strip()]) + "\n"


def after_hooks(message: str, trailers: Mapping[str, str]) -> str:
    """Return a message that a hook has written, inert and with ralph's own trailers and no others of its name."""
    text = _OWN.sub("", inert(message[:MOST_MESSAGE])).strip()
    subject, _, body = text.partition("\n")
    made = one_line(subject, SUBJECT) or "Work of ralph"
    return with_trailers(f"{made}\n{body}", trailers)


def branch_slug(text: str) -> str:
    """Return the part of a branch's name that represents this text; empty when nothing is left of it."""
    words = re.findall(r"[a-z0-9]+", one_line(text, 200).lower())
    slug = ""
    for word in words:
        if len(slug) + len(word) >= MOST_SLUG:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or (words[0][:MOST_SLUG] if words else "")


MOST_SLUG = 50
