"""Set damaged files aside instead of deleting them, and keep only the newest copies."""

import contextlib
import errno
from datetime import datetime
from pathlib import Path

from ralph_tui.store.io.files import (
    explained,
    file_stamp,
    free_path,
    read_regular,
    sync_directory,
    write_atomic,
)

KEPT_ASIDE = 20

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def set_aside(path: Path, now: datetime, *, is_replaced: bool = False) -> Path:
    """Give a damaged file another name, and return that.

    Args:
        is_replaced: Whether the caller is about to replace the file, so that it keeps its first name, too. A
            document then exists at all times, even after a crash.
    """
    aside = free_path(path.parent, f"{path.name}.corrupt-{file_stamp(now)}")
    with explained("set aside", path):
        if not is_replaced:
            path.rename(aside)
        else:
            try:
                aside.hardlink_to(path)
            except OSError as error:
                data = read_regular(path) if error.errno in _NO_LINKS else None
                if data is None:
                    raise
                write_atomic(aside, data)
        sync_directory(path.parent)
    forget_older(path, "corrupt")
    return aside


def forget_older(path: Path, kind: str) -> None:
    """Remove all but the newest files that were set aside from `path` as `kind`, by the times in their names."""
    import glob

    for old in sorted(path.parent.glob(f"{glob.escape(path.name)}.{kind}-*"))[:-KEPT_ASIDE]:
        with contextlib.suppress(OSError):  # such as a directory; an extra copy does no harm
            old.unlink()
