"""Putting a project's state back from the copy that is kept outside of it."""

import os
import shutil
import tempfile
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store import dot
from ralph_tui.store.files import explained, sync_directory
from ralph_tui.store.layout import Layout
from ralph_tui.store.mirror import ORIGIN, kept_since, link, mirror_of


def restore_from_mirror(root: Path) -> tuple[str, ...]:
    """Put back what is missing of a project's state; the names of the files put back.

    What is there is left alone. A `.ralph` that is gone comes back in one step, or not at all.

    Raises:
        StoreError: No copy is kept, nothing is missing, or the disk does not allow it.
    """
    layout = Layout(root.resolve())
    directory = mirror_of(layout.root)
    if kept_since(layout.root) is None:
        raise StoreError(f"No copy of the state of {layout.root} is kept.", "Run `ralph init`.")
    with explained("restore", layout.dot):
        inside, beside = _kept(directory)
        names: list[str] = []
        if not os.path.lexists(layout.dot):
            _restore_dot(layout, directory, inside)
            names += [f".ralph/{name}" for name in inside]
        for name in beside:
            target = layout.root.joinpath(*name.split("--"))
            if not os.path.lexists(target):
                target.parent.mkdir(exist_ok=True)
                shutil.copyfile(directory / name, target)
                names.append(name.replace("--", "/"))
    if not names:
        raise StoreError(f"Nothing of the state of {layout.root} is missing.", "Nothing was done.")
    return tuple(names)


def _kept(directory: Path) -> tuple[list[str], list[str]]:
    """The names of documents, and of files beside `.ralph`, in the copy."""
    names = sorted(
        p.name for p in directory.iterdir() if p.is_file() and not p.name.endswith(".tmp")
    )
    inside = [name.removeprefix(".ralph--") for name in names if name.startswith(".ralph--")]
    others = [
        n for n in names if not n.startswith(".ralph--") and n not in (ORIGIN, "events.jsonl")
    ]
    return inside, others


def _restore_dot(layout: Layout, directory: Path, names: list[str]) -> None:
    made = Path(tempfile.mkdtemp(prefix=".ralph-restoring-", dir=layout.root))
    try:
        for name in names:
            (made / name).write_bytes((directory / f".ralph--{name}").read_bytes())
            (made / name).chmod(0o600)
        journal = directory / layout.events.name
        if journal.is_file():
            link(journal, made / layout.events.name)
            if not (made / layout.events.name).exists():
                shutil.copyfile(journal, made / layout.events.name)
        made.rename(layout.dot)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    sync_directory(layout.root)
    dot.make(layout)
