"""Walk the files of a project, without caches and what tools generate, and tell which are sources."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ralph_tui.store.export_records import followed_names
from ralph_tui.vcs.snapshots import EXCLUDED_DIRECTORIES

__all__ = ["EXCLUDED_DIRECTORIES", "files_of", "is_project_file", "is_source"]

_GENERATED = re.compile(r"\.coverage.*|.*\.py[co]|MEMORY\.md|progress\.txt(\.1)?")
_SOURCE = re.compile(
    r".+\.(pyx?|[cm]?[jt]sx?|vue|svelte|go|rs|rb|exs?|erl|dart|c|cc|cpp|cxx|h|hh|hpp|java|kt|scala|groovy|cs|fs|php"
    r"|swift|lua|pl|pm|r|jl|zig|cljc?|cljs|hs|mli?|nim|m|mm|f90|s|asm|sql|proto|html?|s?css|less|sh|bash|zsh|fish|ps1"
    r"|awk|d|t|tcl|bats|el|lisp|scm|rkt|cr|elm|purs|hx|gd|vb|coffee|v|sv|vhdl?|pas|ad[bs]|sol)",
    re.IGNORECASE,
)


def files_of(root: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield every file of the project in a stable order, except exports that ralph keeps current."""
    left = [str(root)]
    followed = {os.path.join(root, name) for name in followed_names(root)}  # noqa: PTH118 - entry paths are strings
    while left:
        try:
            entries = sorted(os.scandir(left.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                left += [entry.path] if entry.name not in EXCLUDED_DIRECTORIES else []
            elif not _GENERATED.fullmatch(entry.name) and entry.path not in followed:
                yield entry


def is_project_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return EXCLUDED_DIRECTORIES.isdisjoint(path.split("/")) and not _GENERATED.fullmatch(name)


def is_source(path: str) -> bool:
    return _SOURCE.fullmatch(path.rpartition("/")[2]) is not None
