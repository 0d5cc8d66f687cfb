"""Restore a project's state from the copy outside it."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.features import is_name
from ralph_tui.store import project_dir
from ralph_tui.store.backup.mirror import COPIED, copied_at, copy_name, mirror_of, previous_of
from ralph_tui.store.documents import multi_file_commit
from ralph_tui.store.feature_choice import read_list
from ralph_tui.store.io.files import explained, make_private, write_new
from ralph_tui.store.layout import Layout, specs_folder
from ralph_tui.store.lock import write_lock


def restore_from_mirror(root: Path) -> tuple[str, ...]:
    """Restore the missing parts of a project's state; return the names of the restored files.

    Existing files are kept. The documents of a feature are restored in one step or not at all, also after a reset
    unless new ones were created since.
    """
    layout = Layout(root.resolve())
    directory, previous = mirror_of(layout.root), previous_of(layout.root)
    with explained("restore", layout.dot):
        if _is_bare(layout) and copied_at(layout.root) is None and previous.is_dir():
            shutil.rmtree(directory, ignore_errors=True)
            previous.rename(directory)
        if copied_at(layout.root) is None:
            raise StoreError(
                f"There is no copy of the state of {layout.root}.", "Run `ralph init`."
            )
        features = (read_list(layout) or {}).get("features")
        names = sorted(filter(is_name, features)) if isinstance(features, dict) else ()
        layouts = [Layout(layout.root, name) for name in ("", *names)]
        restored: list[Path] = []
        project_dir.make(layout)
        with write_lock(layout):
            multi_file_commit.finish(layout, lambda _: None)
            # The plan without a name last: without it, every command asks for another restore.
            for one in filter(_is_bare, reversed(layouts)):
                restored += _restore_into(one, directory, previous)
            journal = directory / layout.events.name
            if journal.is_file() and not os.path.lexists(layout.events):
                layout.events.symlink_to(journal)
        restored += _restore_outside(layouts, directory)
    if not restored:
        kept = (
            f" The copy from before the last reset is in {previous}." if previous.is_dir() else ""
        )
        raise StoreError(
            f"The state of {layout.root} is complete, so there is nothing to restore.",
            f"Nothing was changed.{kept}",
        )
    return tuple(path.relative_to(layout.root).as_posix() for path in restored)


def _is_bare(layout: Layout) -> bool:
    own = (layout.plan, layout.state)
    shared = () if layout.feature or os.path.lexists(layout.project) else (layout.events,)
    return not any(os.path.lexists(path) for path in (*own, *shared))


def _copies_inside(layout: Layout, directory: Path) -> dict[Path, Path]:
    paths = (path for path in map(layout.document, COPIED) if path.is_relative_to(layout.dot))
    copies = ((path, directory / copy_name(layout, path)) for path in paths)
    return {path: copy for path, copy in sorted(copies) if copy.is_file()}


def _restore_into(layout: Layout, directory: Path, previous: Path) -> list[Path]:
    """Restore the missing documents of a feature, all or none."""
    copies = _copies_inside(layout, directory)
    if not {layout.plan, layout.state} & copies.keys():
        copies = _copies_inside(layout, previous) or copies
    missing = [path for path in copies if not os.path.lexists(path)]
    if not copies:
        return []
    make_private(layout.home, layout.dot)
    project_dir.make(layout)
    writes = (multi_file_commit.Write(path, copies[path].read_bytes(), None) for path in missing)
    multi_file_commit.write(layout, tuple(writes), lambda _: None)
    return missing


def _restore_outside(layouts: Sequence[Layout], directory: Path) -> list[Path]:
    """Restore the files beside `.ralph`: the specs of each feature, and what only the plan without a name has."""
    unnamed = layouts[0]
    found = {
        path: copy
        for path in (unnamed.memory, unnamed.progress, unnamed.agents_md)
        if (copy := directory / copy_name(unnamed, path)).is_file()
    }
    specs = unnamed.root / specs_folder(directory / copy_name(unnamed, unnamed.config))
    left = sorted(copy for copy in directory.iterdir() if copy.suffix == ".md")
    # The name of the folder of all specs begins the names of the others, too.
    for layout in sorted(layouts, key=lambda one: len(one.feature), reverse=True):
        folder = specs / layout.feature
        prefix = f"{copy_name(layout, folder)}--"
        own = [copy for copy in left if copy.name.startswith(prefix)]
        found |= {folder / copy.name.removeprefix(prefix): copy for copy in own}
        left = [copy for copy in left if copy not in own]
    missing = sorted(path for path in found if not os.path.lexists(path))
    for path in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(path, found[path].read_bytes())
    return missing
