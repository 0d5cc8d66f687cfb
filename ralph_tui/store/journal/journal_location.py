"""Locate the journal: beside ralph's own copies, outside the work tree, behind a link in `.ralph`.

The journal quotes everything an agent says and reads. In the work tree, a search of the project (`grep -r`)
would return pages of it to the agent, and a common refactor (`grep -rl … | xargs sed -i …`) would overwrite
it. `.ralph/events.jsonl` is a link, which neither command follows.
"""

import contextlib
import os
import shutil
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import ORIGIN, mirror_of
from ralph_tui.store.io.files import explained
from ralph_tui.store.layout import Layout

SET_ASIDE = ".before"
"""The suffix of a journal that was replaced by another."""


def real_journal(path: Path) -> Path:
    """Return the file behind a journal's name: the target of ralph's own link, else the name itself."""
    try:
        target = path.readlink()
    except OSError:
        return path
    is_ours = target.name == path.name and (target.parent / ORIGIN).is_file()
    return target if is_ours else path


def move_journal(layout: Layout) -> Path:
    """Move the journal out of the work tree; return its path. Only the owner of the loop may call this.

    A journal that was put into `.ralph` by hand counts: the one before is kept beside it. Where nothing can
    be kept outside of the project, the journal stays in it.

    Raises:
        StoreError: The disk does not allow it; the journal is where it was.
    """
    visible = layout.events
    try:
        own = mirror_of(layout.root) / visible.name
    except StoreError:
        return visible
    if not own.parent.is_dir():
        return visible
    with explained("move", visible):
        if visible.is_symlink():
            _take_over(real_journal(visible), own)
        elif visible.is_file():
            _move(visible, own)
        elif os.path.lexists(visible):
            return visible  # not a file: whoever opens it reports that
        show(visible, own)
    return own


def show(visible: Path, own: Path) -> None:
    """Make the name in `.ralph` a link to the journal, atomically.

    Raises:
        OSError: It cannot be made.
    """
    with contextlib.suppress(OSError):
        if visible.readlink() == own:
            return
    temp = visible.with_name(f".{visible.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    os.symlink(str(own), str(temp))  # noqa: PTH211 - as the other calls, which tests record
    try:
        os.replace(temp, visible)  # noqa: PTH105
    except BaseException:
        os.unlink(temp)  # noqa: PTH108
        raise


def _move(visible: Path, own: Path) -> None:
    """Move the project's journal to ralph's own directory."""
    if own.exists():
        if own.samefile(visible):
            return
        own.replace(own.with_name(f"{own.name}{SET_ASIDE}"))
    try:
        os.link(visible, own)
    except OSError:  # another file system
        _copy(visible, own)


def _take_over(other: Path, own: Path) -> None:
    """Take over the journal behind another directory's link: the project was moved or copied."""
    if other == own or own.exists() or not other.is_file():
        return
    if _is_in_use(other.parent):
        _copy(other, own)
    else:
        other.replace(own)


def _is_in_use(directory: Path) -> bool:
    """Return whether the copy's project is still at its old path."""
    try:
        root = Path(os.fsdecode((directory / ORIGIN).read_bytes()))
    except OSError:
        return False
    return (root / ".ralph").is_dir()


def _copy(source: Path, target: Path) -> None:
    temp = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        shutil.copyfile(source, temp)
        temp.chmod(0o600)
        temp.replace(target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
