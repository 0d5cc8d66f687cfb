"""Set damaged files aside: nothing is lost, and the newest ones are kept."""

import contextlib
import errno
import os
from datetime import datetime
from pathlib import Path

from ralph_tui.store.io.files import (
    explained,
    file_stamp,
    read_regular,
    sync_directory,
    write_atomic,
)

KEPT_ASIDE = 20
"""How many copies are kept of each file, so that repeated damage does not fill the disk."""

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})


def set_aside(path: Path, now: datetime, *, replacement: bytes | None = None) -> Path:
    """Rename a damaged file so that nothing is lost, and put the replacement in its place.

    With a replacement, no crash leaves the name without a file.
    """
    aside = path.with_name(f"{path.name}.corrupt-{file_stamp(now)}")
    number = 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_name(f"{path.name}.corrupt-{file_stamp(now)}.{number}")
    with explained("set aside", path):
        if replacement is None or path.is_dir():
            path.rename(aside)
        else:
            _give_second_name(path, aside)
        sync_directory(path.parent)
    if replacement is not None:
        write_atomic(path, replacement)
    forget_older(path, "corrupt")
    return aside


def forget_older(path: Path, kind: str) -> None:
    """Remove all but the newest files set aside from `path` as `kind`, by the times in their names."""
    import glob

    for old in sorted(path.parent.glob(f"{glob.escape(path.name)}.{kind}-*"))[:-KEPT_ASIDE]:
        with contextlib.suppress(
            OSError
        ):  # for example a directory: one extra is no reason to fail
            old.unlink()


def _give_second_name(path: Path, name: Path) -> None:
    """Give the file a second name; copy it where the file system has no hard links (FAT, some shares)."""
    try:
        name.hardlink_to(path)
    except OSError as error:
        data = read_regular(path) if error.errno in _NO_LINKS and path.is_file() else None
        if data is None:
            raise
        write_atomic(name, data)
