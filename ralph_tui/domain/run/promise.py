"""Find the promise with which a model says that it is done, in its own final words and nowhere else."""

import re

_MOST_INDENT = 3
"""Spaces; Markdown takes more for code."""

_FENCE = re.compile(r"[\s>*+-]*(?P<fence>`{3,}|~{3,})(?P<rest>.*)")


def words_before_promise(message: str, promise: str) -> str | None:
    """Return what the model says before its promise; None when the message does not end with the promise.

    The promise is the whole last line. Quoted, indented as code, in a fence, or with other words on its
    line it is talk about the promise, such as "I cannot say it yet".

    Args:
        message: The last message of a session, as the model wrote it.
        promise: The words that claim; empty: nothing does.
    """
    lines = message.rstrip().splitlines()
    if not promise or not lines or lines[-1].strip() != promise:
        return None
    indent = len(lines[-1].expandtabs()) - len(lines[-1].lstrip().expandtabs())
    if indent > _MOST_INDENT or _in_fence(lines[:-1]):
        return None
    return "\n".join(lines[:-1]).strip()


def _in_fence(lines: list[str]) -> bool:
    """Return whether a code fence is open after these lines, also one in a list or a quotation."""
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
