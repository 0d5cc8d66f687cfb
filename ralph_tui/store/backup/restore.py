"""Restore a project's state from the copy outside it."""

import os
import shutil
import tempfile
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store import project_dir
from ralph_tui.store.backup.mirror import (
    give_second_name,
    has_work,
    is_copy,
    mirror_of,
    previous_of,
    restore_previous_copy,
)
from ralph_tui.store.io.files import explained, sync_directory, write_atomic
from ralph_tui.store.layout import Layout


def restore_from_mirror(root: Path) -> tuple[str, ...]:
    """Restore the missing parts of a project's state; return the names of the restored files.

    What is there is left alone. A `.ralph` that is gone comes back in one step, or not at all; one that
    was reset gets back its documents, unless others were made since.

    Raises:
        StoreError: No copy is kept, nothing is missing, or the disk does not allow it.
    """
    layout = Layout(root.resolve())
    directory = mirror_of(layout.root)
    bare = not any(os.path.lexists(path) for path in (layout.plan, layout.state, layout.events))
    with explained("restore", layout.dot):
        if bare and not has_work(layout.root):
            restore_previous_copy(layout.root)
        if not has_work(layout.root):
            raise StoreError(f"No copy of the state of {layout.root} is kept.", "Run `ralph init`.")
        inside, beside = _kept(directory)
        names: list[str] = []
        if not os.path.lexists(layout.dot):
            _restore_dot(layout, directory, inside)
            names += [f".ralph/{name}" for name in inside]
        elif bare:
            names += _restore_into(layout, directory, inside)
        for name in beside:
            target = layout.root.joinpath(*name.split("--"))
            if not os.path.lexists(target):
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(directory / name, target)
                names.append(name.replace("--", "/"))
    if not names:
        raise StoreError(f"Nothing of the state of {layout.root} is missing.", _done_nothing(root))
    return tuple(names)


def _done_nothing(root: Path) -> str:
    previous = previous_of(root.resolve())
    kept = f" The copy from before the last reset is in {previous}." if previous.is_dir() else ""
    return f"Nothing was done.{kept}"


def _restore_into(layout: Layout, directory: Path, names: list[str]) -> list[str]:
    """Restore documents into an empty `.ralph`; the plan goes last, because it marks the restore as done."""
    missing = [name for name in names if not os.path.lexists(layout.dot / name)]
    for name in sorted(missing, key=lambda name: name == layout.plan.name):
        write_atomic(layout.dot / name, (directory / f".ralph--{name}").read_bytes())
    _put_journal(layout, directory, layout.dot)
    project_dir.make(layout)
    return [f".ralph/{name}" for name in missing]


def _put_journal(layout: Layout, directory: Path, target: Path) -> None:
    journal, made = directory / layout.events.name, target / layout.events.name
    if journal.is_file() and not made.exists():
        give_second_name(journal, made)
        if not made.exists():
            shutil.copyfile(journal, made)


def _kept(directory: Path) -> tuple[list[str], list[str]]:
    """Return the names in the copy, of documents and of files beside `.ralph`."""
    names = sorted(
        p.name for p in directory.iterdir() if p.is_file() and not p.name.endswith(".tmp")
    )
    inside = [name.removeprefix(".ralph--") for name in names if name.startswith(".ralph--")]
    others = [n for n in names if not n.startswith(".ralph--") and is_copy(n)]
    return inside, others


def _restore_dot(layout: Layout, directory: Path, names: list[str]) -> None:
    made = Path(tempfile.mkdtemp(prefix=".ralph-restoring-", dir=layout.root))
    try:
        for name in names:
            (made / name).write_bytes((directory / f".ralph--{name}").read_bytes())
            (made / name).chmod(0o600)
        _put_journal(layout, directory, made)
        made.rename(layout.dot)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    sync_directory(layout.root)
    project_dir.make(layout)
