"""Walk the files that make up a project, without what tools leave beside them."""

import os
import re
from collections.abc import Iterator

from ralph_tui.vcs.snapshots import NOT_THE_PROJECT

__all__ = ["NOT_THE_PROJECT", "files_of"]
from pathlib import Path

from ralph_tui.store.export_records import followed_names

_NOISE = re.compile(r"\.coverage.*|.*\.py[co]|MEMORY\.md|progress\.txt(\.1)?")


def files_of(root: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield every file of the project, in the same order each time; files that ralph keeps current are left out."""
    left = [str(root)]
    followed = {os.path.join(root, name) for name in followed_names(root)}  # noqa: PTH118 - entries have texts
    while left:
        try:
            entries = sorted(os.scandir(left.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                left += [entry.path] if entry.name not in NOT_THE_PROJECT else []
            elif not _NOISE.fullmatch(entry.name) and entry.path not in followed:
                yield entry
