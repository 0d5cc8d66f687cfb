"""Create and check the `.ralph` directory."""

import os
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.io.files import make_private, write_atomic
from ralph_tui.store.layout import Layout

PRIVATE = 0o700


def make(layout: Layout) -> None:
    dot = layout.dot
    if not layout.root.is_dir():
        raise StoreError(f"{layout.root} is not a directory.", "Create it first.")
    if os.path.lexists(dot):
        require(layout)
    for directory in (dot, *layout.directories):
        make_private(directory, dot)
    if not layout.gitignore.exists():
        write_atomic(layout.gitignore, b"*\n")


def require(layout: Layout) -> None:
    dot = layout.dot
    if dot.is_symlink():
        # realpath, because `Path.resolve` raises a RuntimeError for circular links.
        target = Path(os.path.realpath(dot))
        if not target.is_dir():
            raise StoreError(f"{dot} is a broken symlink.", "Remove it and run `ralph init`.")
        if not target.is_relative_to(layout.root):
            raise StoreError(
                f"{dot} is a symlink that leaves the project (to {target}).",
                "Replace it with a directory. Ralph writes nothing outside the project.",
            )
    elif not dot.exists():
        raise StoreError(f"{layout.root} has no .ralph directory.", "Run `ralph init` there.")
    elif not dot.is_dir():
        raise StoreError(f"{dot} is not a directory.", "Move it elsewhere and run `ralph init`.")
    if layout.feature and (layout.home.is_symlink() or not layout.home.is_dir()):
        raise StoreError(
            f"There is no feature {layout.feature} in {layout.root}.",
            "List the features with `ralph feature`.",
        )
