"""Finds the project that a command is about."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.cli.console import note
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.engine.control.controls import Controls
    from ralph_tui.store.documents.documents import Documents
    from ralph_tui.store.lock import Owner
    from ralph_tui.store.project import Project


_named: list[Path] = []
"""The directories that command lines named, the latest last."""


@contextmanager
def chosen_project(root: Path | None) -> Iterator[None]:
    """Make this process work on the project that the command line names, if any."""
    _named.extend(given := () if root is None else (root,))
    try:
        yield
    finally:
        del _named[len(_named) - len(given) :]


def named_project() -> Path | None:
    return _named[-1] if _named else None


def start_directory() -> Path:
    given = named_project()
    try:
        directory = Path(os.path.realpath(given or Path.cwd()))
    except OSError as error:  # the current directory was deleted
        raise SetupError(
            f"The directory cannot be found: {error.strerror or error}.",
            "Go to the project's directory or name it with --project-root.",
        ) from error
    if not directory.is_dir():
        raise SetupError(
            f"{given} is not a directory.", "Name the project's directory with --project-root."
        )
    return directory


def find_project(feature: str | None = None) -> "Project":
    """Return the project, with the feature that this process works on or another one."""
    from ralph_tui.store.project import Project

    directory = start_directory()
    # A named directory is the project itself; its parents are not searched.
    return Project.find(directory, feature) if not _named else Project(directory, feature)


def project_directory() -> Path:
    """Return the directory for a command that works without a project: that of the project if there is one."""
    from ralph_tui.store.project_root import nearest

    directory = start_directory()
    return directory if _named else nearest(directory) or directory


def read_project(project: "Project") -> "Documents":
    documents = project.load()
    for message in project.damage():
        note(message)
    return documents


def owner_of(project: "Project") -> "Owner | None":
    from ralph_tui.store.lock import LoopLock

    return LoopLock(project.layout).feature_owner()


def open_controls() -> "Controls":
    from ralph_tui.engine.run import launch_factory

    return launch_factory.open_controls(find_project().root, note)
