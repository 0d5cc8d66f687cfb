"""Detects oscillation: an iteration that leaves the files as they were before, or as an earlier one did."""

from collections.abc import Sequence

from ralph_tui.domain.base import Count, Model, Record

KEPT = 12
"""How many of the last iterations a circle can span."""


class Left(Record):
    """The files as an iteration left them."""

    iteration: Count
    files: str
    """A hash of the contents of all of them."""


class Files(Model):
    """The files before an iteration and after it; empty where they were not looked at."""

    iteration: Count = 0
    before: str = ""
    after: str = ""


def came_back(left: Sequence[Left], now: Files) -> int | None:
    """Return the iteration after which the files were as they are now, though others changed them since."""
    if not now.after or now.after == now.before:
        return None
    known = (seen.iteration for seen in reversed(left) if seen.files == now.after)
    return next(known, None)


def seen(left: Sequence[Left], now: Files) -> str:
    """Say how the files speak against progress; empty when they do not."""
    if now.after and now.after == now.before:
        return "no file changed"
    number = came_back(left, now)
    if number is None:
        return ""
    return f"the files are as they were {f'after iteration {number}' if number else 'at the start'}"


def leaving(left: Sequence[Left], now: Files) -> tuple[Left, ...]:
    """Remember the files after an iteration; the first one remembers the start, too."""
    if not now.after:
        return tuple(left)
    first = () if left else (Left(iteration=max(0, now.iteration - 1), files=now.before),)
    return (*left, *first, Left(iteration=now.iteration, files=now.after))[-KEPT:]
