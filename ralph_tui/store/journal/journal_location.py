"""Store the journal outside the work tree, beside ralph's own copies, with a link in `.ralph`.

The journal quotes everything that an agent writes and reads. In the work tree, a search of the project
(`grep -r`) would return pages of it to the agent, and a common refactoring (`grep -rl … | xargs sed -i …`) would
overwrite it. `.ralph/events.jsonl` is a symlink, which neither command follows.
"""

import contextlib
import os
import shutil
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import ORIGIN, mirror_of
from ralph_tui.store.io.files import explained, temp_path
from ralph_tui.store.layout import Layout

SET_ASIDE = ".before"


def real_journal(path: Path) -> Path:
    """Return the target of a journal's link if ralph created the link, else the path itself."""
    try:
        target = path.readlink()
    except OSError:
        return path
    is_ours = target.name == path.name and (target.parent / ORIGIN).is_file()
    return target if is_ours else path


def move_journal(layout: Layout) -> Path:
    """Move the journal out of the work tree; return its path. Only the owner of the loop may call this.

    A journal that a person put into `.ralph` replaces the moved one, which is kept beside it. Where nothing can
    be stored outside the project, the journal stays in it.
    """
    visible = layout.events
    try:
        stored = mirror_of(layout.root) / visible.name
    except StoreError:
        return visible
    if not stored.parent.is_dir():
        return visible
    with explained("move", visible):
        if visible.is_symlink():
            _take_over(real_journal(visible), stored)
        elif visible.is_file():
            _move(visible, stored)
        elif os.path.lexists(visible):
            return visible  # not a file, which the code that opens it reports
        link_journal(visible, stored)
    return stored


def link_journal(visible: Path, stored: Path) -> None:
    """Replace the path in `.ralph` atomically by a link to the journal."""
    with contextlib.suppress(OSError):
        if visible.readlink() == stored:
            return
    temp = temp_path(visible)
    os.symlink(str(stored), str(temp))  # noqa: PTH211 - tests record these os calls
    try:
        os.replace(temp, visible)  # noqa: PTH105
    except BaseException:
        os.unlink(temp)  # noqa: PTH108
        raise


def _move(visible: Path, stored: Path) -> None:
    if stored.exists():
        if stored.samefile(visible):
            return
        stored.replace(stored.with_name(f"{stored.name}{SET_ASIDE}"))
    try:
        os.link(visible, stored)
    except OSError:  # another file system
        _copy(visible, stored)


def _take_over(other: Path, stored: Path) -> None:
    if other == stored or stored.exists() or not other.is_file():
        return
    if _is_in_use(other.parent):
        _copy(other, stored)
    else:
        other.replace(stored)


def _is_in_use(directory: Path) -> bool:
    try:
        root = Path(os.fsdecode((directory / ORIGIN).read_bytes()))
    except OSError:
        return False
    return (root / ".ralph").is_dir()


def _copy(source: Path, target: Path) -> None:
    temp = temp_path(target)
    try:
        shutil.copyfile(source, temp)
        temp.chmod(0o600)
        temp.replace(target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
