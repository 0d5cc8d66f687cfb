"""Write several documents atomically: after a crash, all of them are old or all of them are new.

New contents are first written to temporary files. Then a list of the renames is written, which commits the
change, and the renames are done. After a crash, the next process that finds the list finishes them.
"""

import errno
import json
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.io.files import (
    DamagedError,
    content_digest,
    explained,
    file_stamp,
    read_regular,
    remove_stale_temps,
    stage,
    sync_directory,
    utc_now,
    write_atomic,
    write_target,
)
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.layout import Layout

_AT_FDCWD = -100
_LINUX_EXCHANGE = 2
_DARWIN_SWAP = 2
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def swap_or_replace(temp: Path, target: Path) -> bool:
    """Move `temp` to `target`; return whether the old file is now at `temp`."""
    if exchange(temp, target):
        return True
    temp.replace(target)
    return False


def exchange(first: Path, second: Path) -> bool:
    """Exchange two files atomically; return False when that is unsupported or a file is missing."""
    call = _system_call()
    if call is None:
        return False
    function, flags = call
    arguments = (os.fsencode(first), os.fsencode(second))
    if sys.platform == "darwin":
        failed = function(*arguments, flags)
    else:
        failed = function(_AT_FDCWD, arguments[0], _AT_FDCWD, arguments[1], flags)
    if not failed:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in _NOT_HERE or number == errno.ENOENT:
        return False
    raise OSError(number, os.strerror(number), str(second))


@cache
def _system_call() -> tuple[Callable[..., int], int] | None:
    import ctypes  # slow to import, and readers do not need it

    library = ctypes.CDLL(None, use_errno=True)
    name, flag = (
        ("renamex_np", _DARWIN_SWAP) if sys.platform == "darwin" else ("renameat2", _LINUX_EXCHANGE)
    )
    function = getattr(library, name, None)
    return None if function is None else (function, flag)


class Write(NamedTuple):
    """A file's new content, and the content the change was based on."""

    path: Path
    data: bytes
    before: bytes | None


class _Rename(NamedTuple):
    """One entry of the rename list. The digests identify the files and are empty in an older list."""

    temp: Path
    target: Path
    new: str = ""
    old: str = ""


class Move(NamedTuple):
    """A directory that is renamed together with a change of the documents."""

    source: Path
    target: Path


Report = Callable[[str], None]


def write(
    layout: Layout, writes: tuple[Write, ...], report: Report, moves: tuple[Move, ...] = ()
) -> Path | None:
    """Write all new contents, or nothing when a file has changed in the meantime.

    If a file is edited at the moment of its rename, the edited version is restored. If other files were already
    renamed, it is kept beside the new one, and `report` receives a sentence.

    Returns:
        The file that has changed, or None when everything was written.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        with explained("write in", layout.dot):
            for item in writes:
                target = write_target(item.path)
                staged.append((stage(target, item.data), target))
            changed = next((item.path for item in writes if not _unchanged(item)), None)
            if changed is not None:
                _discard(staged)
                return changed
            if len(staged) + 2 * len(moves) > 1:
                _commit_renames(layout, staged, writes, moves, report)
            elif staged and not _replace_checked(*staged[0], writes[0].before):
                _discard(staged)
                return writes[0].path
            else:
                sync_directory(layout.home)
    except BaseException:
        # Once the list of renames exists, the change is committed and needs the temporary files.
        if not layout.commit.exists():
            _discard(staged)
        raise
    return None


def _replace_checked(temp: Path, target: Path, before: bytes | None) -> bool:
    if not swap_or_replace(temp, target):
        return True
    try:
        expected = read_regular(temp) == before
    except DamagedError:
        expected = False
    if expected:
        temp.unlink()
        return True
    exchange(temp, target)
    return False


def _commit_renames(
    layout: Layout,
    staged: list[tuple[Path, Path]],
    writes: tuple[Write, ...],
    moves: tuple[Move, ...],
    report: Report,
) -> None:
    renames = [[str(move.source), str(move.target)] for move in moves] + [
        [str(temp), str(target), content_digest(item.data), content_digest(item.before)]
        for (temp, target), item in zip(staged, writes, strict=True)
    ]
    write_atomic(layout.commit, json.dumps({"renames": renames}).encode())
    finish(layout, report)


def finish(layout: Layout, report: Report) -> None:
    """Finish the renames that this or a dead process has committed. Hold the write lock."""
    if not layout.commit.exists():
        return
    with explained("finish the last change in", layout.dot):
        changed = {layout.dot.resolve()}
        for rename in _renames(layout.commit):
            # An agent might forge the list, so a rename to any other directory is ignored.
            if parents := _allowed_parents(layout, rename):
                _do_rename(rename, report)
                changed |= parents
        for directory in changed:  # sync before removing the list that could repeat the renames
            if directory.is_dir():
                sync_directory(directory)
        layout.commit.unlink(missing_ok=True)


def _allowed_parents(layout: Layout, rename: _Rename) -> set[Path]:
    dot, specs = layout.dot.resolve(), layout.every_spec.resolve()
    features = dot / layout.features.name
    parents = {parent.resolve() for parent in {rename.temp.parent, rename.target.parent}}
    if rename.temp.is_dir():
        own = parents in ({features}, {specs}, {dot / layout.archive.name})
    else:
        own = all(parent == dot or parent.parent == features for parent in parents)
    return parents if own else set()


def _do_rename(rename: _Rename, report: Report) -> None:
    """Do one rename unless it is done, and keep a version that was edited in the meantime."""
    temp, target = rename.temp, rename.target
    if not temp.exists():
        return
    if temp.is_dir():
        if not os.path.lexists(target):
            temp.rename(target)
        return
    if rename.new in ("", _digest_of(temp)) and not swap_or_replace(temp, target):
        return
    if rename.old in ("", _digest_of(temp)):
        temp.unlink()
        return
    kept = target.with_name(f"{target.name}.edited-{file_stamp(utc_now())}")
    temp.rename(kept)
    report(f"{target.name} was edited while ralph wrote it. Your version is kept as {kept.name}.")


def remove_leftovers(layout: Layout, report: Report) -> None:
    """Finish or remove what dead writers left behind. Hold the write lock."""
    finish(layout, report)
    with explained("clean up", layout.dot):
        remove_stale_temps(layout.dot)
        if layout.feature:
            remove_stale_temps(layout.home)


def _digest_of(path: Path) -> str:
    try:
        return content_digest(read_regular(path))
    except DamagedError:
        return "no file"


def _renames(path: Path) -> list[_Rename]:
    try:
        renames = parse_object(read_regular(path) or b"").get("renames")
    except DamagedError as error:
        raise StoreError(
            f"{path} is damaged ({error}).",
            "Delete this file. The documents themselves are intact.",
        ) from error
    pairs = renames if isinstance(renames, list) else []
    return [
        _Rename(Path(str(pair[0])), Path(str(pair[1])), *(str(digest) for digest in pair[2:4]))
        for pair in pairs
        if isinstance(pair, list) and len(pair) in (2, 4)
    ]


def _unchanged(item: Write) -> bool:
    try:
        return read_regular(item.path) == item.before
    except DamagedError:
        return False


def _discard(staged: list[tuple[Path, Path]]) -> None:
    for temp, _ in staged:
        temp.unlink(missing_ok=True)
