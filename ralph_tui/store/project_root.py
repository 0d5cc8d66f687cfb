"""Find the project's directory before anything else is imported."""

import os
from collections.abc import Iterator
from pathlib import Path

DOT = ".ralph"

AGENT_OF = "RALPH_GUARD_ROOT"
"""The environment variable of every agent and gate process, with the project's resolved path."""


def upwards(here: Path) -> Iterator[Path]:
    """Yield a directory and its parents, without the home directory.

    A home's `.ralph` contains personal settings, so it is a project only for commands run in the home itself.
    """
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - without a home it stays as it is
    yield here
    yield from (directory for directory in here.parents if directory != home)


def nearest(start: Path) -> Path | None:
    return next((d for d in upwards(start.resolve()) if os.path.lexists(d / DOT)), None)
