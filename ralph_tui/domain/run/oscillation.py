"""Detect oscillation: an iteration that changes no file, or returns the files to an earlier state."""

from collections.abc import Sequence

from ralph_tui.domain.base import Count, Model, Record

MAX_STATES = 12
"""How many file states are kept, which is the longest oscillation that can be detected."""


class Left(Record):
    """The state of the files after an iteration."""

    iteration: Count
    files: str
    """A hash of the contents of all files."""


class Files(Model):
    """The hashes of all files before and after an iteration; empty if unknown."""

    iteration: Count = 0
    before: str = ""
    after: str = ""


def restored_iteration(left: Sequence[Left], now: Files) -> int | None:
    """Return the earlier iteration whose file state the last iteration restored, or None.

    An iteration that changed nothing restored nothing.
    """
    if not now.after or now.after == now.before:
        return None
    return next((state.iteration for state in reversed(left) if state.files == now.after), None)


def seen(left: Sequence[Left], now: Files) -> str:
    """Return why the files show no progress, or an empty string if they do."""
    if now.after and now.after == now.before:
        return "no file changed"
    number = restored_iteration(left, now)
    if number is None:
        return ""
    return f"the files are as they were {f'after iteration {number}' if number else 'at the start'}"


def with_state(left: Sequence[Left], now: Files) -> tuple[Left, ...]:
    """Return the kept states with the one after this iteration; the first time also the one before it."""
    if not now.after:
        return tuple(left)
    first = () if left else (Left(iteration=max(0, now.iteration - 1), files=now.before),)
    return (*left, *first, Left(iteration=now.iteration, files=now.after))[-MAX_STATES:]
