"""Writes commit messages from untrusted text, such as task titles. Pure."""

import re
from collections.abc import Mapping

from ralph_tui.domain.sanitize import inert, one_line

MAX_SUBJECT = 120
"""The most characters of a commit's first line."""

MAX_MESSAGE = 16_000
"""The most characters of a message written by a hook."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TRAILER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*[ \t]*[:=#]|\(cherry picked from commit")
_OWN = re.compile(r"(?im)^[ \t]*Ralph-[A-Za-z]+[ \t]*:.*\n?")


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template; each value becomes one inert line and cannot start a trailer.

    Args:
        template: The person's own text, with `{name}` for each value.
        values: The value of each name; an unknown placeholder is left unchanged.
    """
    lines = []
    for number, line in enumerate(template.strip().splitlines()):
        made = _PLACEHOLDER.sub(lambda m: one_line(inert(values.get(m[1], m[0]))), line).rstrip()
        if number and made != line and _TRAILER.match(made):
            made = f"  {made}"  # git does not read an indented line as a trailer
        lines.append(made)
    subject = one_line(lines[0], MAX_SUBJECT) if lines else ""
    return "\n".join([subject or "Work by ralph", *lines[1:]]).strip()


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    """Return the message with these trailers as its last paragraph."""
    lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value.strip()]
    return "\n\n".join([message.strip(), "\n".join(lines)] if lines else [message.strip()]) + "\n"


def after_hooks(message: str, trailers: Mapping[str, str]) -> str:
    """Return a message from a hook as inert text, with exactly these of ralph's trailers."""
    text = _OWN.sub("", inert(message)[:MAX_MESSAGE]).strip()
    subject, _, body = text.partition("\n")
    made = one_line(subject, MAX_SUBJECT) or "Work by ralph"
    return with_trailers(f"{made}\n{body}", trailers)


def branch_slug(text: str) -> str:
    """Return a slug of this text for a branch name, or an empty string if no letters or digits remain."""
    words = re.findall(r"[a-z0-9]+", one_line(text, 200).lower())
    slug = ""
    for word in words:
        if len(slug) + len(word) >= MAX_SLUG:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or (words[0][:MAX_SLUG] if words else "")


MAX_SLUG = 50
