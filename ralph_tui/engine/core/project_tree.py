"""Walk the files of a project, without caches and other files that tools generate."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ralph_tui.store.export_records import followed_names
from ralph_tui.vcs.snapshots import EXCLUDED_DIRECTORIES

__all__ = ["EXCLUDED_DIRECTORIES", "files_of"]

_GENERATED = re.compile(r"\.coverage.*|.*\.py[co]|MEMORY\.md|progress\.txt(\.1)?")


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
