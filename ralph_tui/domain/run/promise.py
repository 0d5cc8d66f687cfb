"""Find the promise with which a model claims to be done, only in the last line of its last message."""

import re

_MOST_INDENT = 3
"""Spaces before the promise. Markdown treats a larger indent as code."""

_FENCE = re.compile(r"[\s>*+-]*(?P<fence>`{3,}|~{3,})(?P<rest>.*)")


def words_before_promise(message: str, promise: str) -> str | None:
    """Return the message without its promise, or None if the message does not end with the promise.

    The promise must be the whole last line. If it is quoted, indented as code, in a code fence or has other
    words on its line, the model only talks about the promise.

    Args:
        promise: The words of the promise; if empty, there is never one.
    """
    lines = message.rstrip().splitlines()
    if not promise or not lines or lines[-1].strip() != promise:
        return None
    indent = len(lines[-1].expandtabs()) - len(lines[-1].lstrip().expandtabs())
    if indent > _MOST_INDENT or _in_fence(lines[:-1]):
        return None
    return "\n".join(lines[:-1]).strip()


def _in_fence(lines: list[str]) -> bool:
    opened = ""
    for line in lines:
        found = _FENCE.match(line)
        if found is None:
            continue
        fence, rest = found["fence"], found["rest"]
        if not opened:
            opened = fence
        elif fence.startswith(opened) and not rest.strip():
            opened = ""
    return bool(opened)
