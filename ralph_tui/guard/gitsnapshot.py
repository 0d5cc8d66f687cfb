"""A repository at one moment, as far as an agent might change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

STAGE = " (stage "
"""Marks the entries of a path in conflict."""


@dataclass(frozen=True)
class Snapshot:
    """A repository at one moment; `times` says when each part was last written."""

    head: str
    """The branch HEAD stands for, or a commit when it is detached."""
    above: str = ""
    """The top of the work tree, when the project is a directory below it; all paths are from there."""
    refs: Mapping[str, str] = field(default_factory=dict)
    index: Mapping[str, str] = field(default_factory=dict)
    """`MODE,OBJECT` of each path, with what git was told about it."""
    stash: tuple[str, ...] = ()
    config: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    worktrees: tuple[str, ...] = ()
    submodules: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Of each that is checked out: what its HEAD stands for, empty when detached, and the commit."""
    times: Mapping[str, float] = field(default_factory=dict)
    marked: frozenset[str] = frozenset()
    """Commits that HEAD's reflog says an agent's process moved to."""


def submodule_part(path: str) -> str:
    """The name of a submodule among `Snapshot.times`."""
    return f"submodule {path}"
