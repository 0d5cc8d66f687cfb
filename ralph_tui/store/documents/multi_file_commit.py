"""Write several documents so that a crash leaves all of them old or all of them new.

New contents are written to temporary files first. A list of the renames is put in place, which is the
moment of decision, and then the renames are done. Whoever finds the list after a crash finishes them.
"""

import errno
import hashlib
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
from ralph_tui.store.layout import SPECS, Layout

_AT_FDCWD = -100
_LINUX_EXCHANGE = 2
_DARWIN_SWAP = 2
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def put(temp: Path, target: Path) -> bool:
    """Put `temp` in the place of `target`; return whether the old file is now at `temp`.

    Raises:
        OSError: Neither way worked; nothing changed.
    """
    if exchange(temp, target):
        return True
    temp.replace(target)
    return False


def exchange(first: Path, second: Path) -> bool:
    """Exchange two files atomically; return False when the system cannot or one is missing.

    Raises:
        OSError: It could not be done for another reason.
    """
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
    """Return the C library's exchange function and its flag, or None."""
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
    """One line of the rename list; the digests tell the files apart and are empty in an older list."""

    temp: Path
    target: Path
    new: str = ""
    old: str = ""


class Move(NamedTuple):
    """A directory that gets another name together with the documents that say so."""

    source: Path
    target: Path


Tell = Callable[[str], None]


def write(
    layout: Layout, writes: tuple[Write, ...], tell: Tell, moves: tuple[Move, ...] = ()
) -> Path | None:
    """Put all new contents in place, or nothing when a file changed meanwhile.

    A file that changes at the very instant of the renames is found in what they replaced. It is put back, or
    kept beside the new one when other files are in place already, and `tell` receives a sentence.

    Args:
        layout: The project's paths.
        writes: The files.
        tell: Receives a sentence for each file that somebody edited at that moment.
        moves: Directories that are renamed in the same step.

    Returns:
        The file that changed, or None when everything is in place.

    Raises:
        StoreError: The disk did not allow it.
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
                _decide(layout, staged, writes, moves, tell)
            elif staged and not _put(*staged[0], writes[0].before):
                _discard(staged)
                return writes[0].path
            else:
                sync_directory(layout.home)
    except BaseException:
        # Once the list of renames is in place the decision is made: the temporary files are needed.
        if not layout.commit.exists():
            _discard(staged)
        raise
    return None


def _put(temp: Path, target: Path, before: bytes | None) -> bool:
    """Put one file in place; return False, with nothing changed, when another content was there by then."""
    if not put(temp, target):
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


def _decide(
    layout: Layout,
    staged: list[tuple[Path, Path]],
    writes: tuple[Write, ...],
    moves: tuple[Move, ...],
    tell: Tell,
) -> None:
    renames = [[str(move.source), str(move.target)] for move in moves] + [
        [str(temp), str(target), _digest(item.data), _digest(item.before)]
        for (temp, target), item in zip(staged, writes, strict=True)
    ]
    write_atomic(layout.commit, json.dumps({"renames": renames}).encode())
    finish(layout, tell)


def finish(layout: Layout, tell: Tell) -> None:
    """Do the renames that a dead process decided on. Hold the write lock."""
    if not layout.commit.exists():
        return
    dot = layout.dot.resolve()
    with explained("finish the last change in", layout.dot):
        for rename in _renames(layout.commit):
            # The list is ours, but an agent may write files: nothing outside .ralph is touched.
            if _is_ours(layout, rename):
                _finish_one(rename, tell)
                if rename.target.parent.is_dir():
                    sync_directory(rename.target.parent)
        sync_directory(dot)
        layout.commit.unlink(missing_ok=True)


def _is_ours(layout: Layout, rename: _Rename) -> bool:
    """Return whether a rename is of a file in `.ralph` or a feature's folder, or of such a folder, specs or an archive."""
    dot, specs = layout.dot.resolve(), layout.root.resolve() / SPECS
    archive = dot / layout.archive.name
    features = dot / layout.features.name
    parents = {rename.temp.parent.resolve(), rename.target.parent.resolve()}
    if rename.temp.is_dir():
        return parents in ({features}, {specs}, {archive})
    return all(parent == dot or parent.parent == features for parent in parents)


def _finish_one(rename: _Rename, tell: Tell) -> None:
    """Put a file in place unless it is there already; keep what replaced the old one meanwhile."""
    temp, target = rename.temp, rename.target
    if not temp.exists():
        return
    if temp.is_dir():
        if not os.path.lexists(target):
            temp.rename(target)
        return
    if rename.new in ("", _digest_of(temp)) and not put(temp, target):
        return
    if rename.old in ("", _digest_of(temp)):
        temp.unlink()
        return
    kept = target.with_name(f"{target.name}.edited-{file_stamp(utc_now())}")
    temp.rename(kept)
    tell(
        f"{target.name} was edited at the very moment it was written; "
        f"your version is kept as {kept.name}."
    )


def remove_leftovers(layout: Layout, tell: Tell) -> None:
    """Remove what dead writers left. Hold the write lock."""
    finish(layout, tell)
    with explained("clean up", layout.dot):
        remove_stale_temps(layout.dot)
        if layout.feature:
            remove_stale_temps(layout.home)


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _digest_of(path: Path) -> str:
    try:
        return _digest(read_regular(path))
    except DamagedError:
        return "no file"


def _renames(path: Path) -> list[_Rename]:
    try:
        renames = parse_object(read_regular(path) or b"").get("renames")
    except DamagedError as error:
        raise StoreError(
            f"{path} is damaged ({error}).", "Delete it; the documents are whole."
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
