"""Find the project's directory, before anything else is loaded."""

import os
from collections.abc import Iterator
from pathlib import Path

DOT = ".ralph"
"""Ralph's own directory in a project."""

AGENT_OF = "RALPH_GUARD_ROOT"
"""The variable in the environment of every agent and gate process that names the resolved project."""


def upwards(here: Path) -> Iterator[Path]:
    """Yield a directory and its parents; a home's `.ralph` holds personal settings and counts only from there."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - without a home it stays as it is
    yield here
    yield from (directory for directory in here.parents if directory != home)


def nearest(start: Path) -> Path | None:
    """Return the directory of the project that contains `start`, or None."""
    return next((d for d in upwards(start.resolve()) if os.path.lexists(d / DOT)), None)
