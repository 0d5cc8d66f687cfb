"""Write files atomically, append durably, and read without blocking."""

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from ralph_tui.domain.errors import StoreError

MAX_BYTES = 128 * 1024 * 1024

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
# Some network and FUSE file systems cannot sync a directory; these errors are ignored.
_NO_DIRECTORY_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


class DamagedError(Exception):
    """A file's content is invalid. The message is a short reason."""


def content_digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def utc_now() -> datetime:
    return datetime.now(UTC)


def file_stamp(now: datetime) -> str:
    return now.strftime("%Y%m%dT%H%M%S%fZ")


def file_signature(path: Path) -> tuple[int, int, int]:
    info = os.stat(path)  # noqa: PTH116 - called about thirty times in every transaction
    return info.st_mtime_ns, info.st_size, info.st_ino


@contextmanager
def explained(doing: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` into a `StoreError` with a message for a person."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"Cannot {doing} {path}: {error.strerror or error}.", _hint(error, path)
        ) from error


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file atomically and durably: readers and crashes see either the old or the new content.

    Args:
        path: The file. A symlink is followed only within its own directory.
        mode: The permissions of a new file. An existing file keeps its own.
    """
    with explained("write", path):
        target = write_target(path)
        _replace_or_discard(stage(target, data, mode=mode), target)
        sync_directory(target.parent)


def stage(target: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> Path:
    """Write `data` to a temporary file beside `target`; with `durable` it survives a power cut."""
    temp = temp_path(target)
    kept = _mode_of(target)
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, mode)
    try:
        try:
            if kept is not None:
                os.fchmod(descriptor, kept)
            write_all(descriptor, data)
            if durable:
                sync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    return temp


def temp_path(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")


def make_private(directory: Path, above: Path) -> None:
    """Create a directory and its parents from `above` on for the owner; `parents=True` would let others read those."""
    below = directory.relative_to(above)
    for part in (*reversed(below.parents), below):
        with explained("make", above / part):
            (above / part).mkdir(mode=0o700, parents=True, exist_ok=True)


def free_path(directory: Path, stem: str, suffix: str = "") -> Path:
    """Return a path where nothing is yet; the name gets a number if it is taken."""
    names = (f"{stem}{f'-{n}' if n > 1 else ''}{suffix}" for n in count(1))
    return next(path for path in map(directory.joinpath, names) if not os.path.lexists(path))


def replace_file(target: Path, data: bytes) -> None:
    """Replace a file atomically, without syncing it to the disk."""
    _replace_or_discard(stage(target, data, durable=False), target)


def write_new(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Create a file, complete even if the process is killed.

    Raises:
        FileExistsError: The name is taken, perhaps by a link; nothing was changed.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    temp = stage(path, data, mode=mode)
    try:
        path.hardlink_to(temp)
    except OSError as error:
        if error.errno == errno.EEXIST:
            raise
        temp.rename(path)  # the file system has no hard links
    finally:
        temp.unlink(missing_ok=True)


def _replace_or_discard(temp: Path, target: Path) -> None:
    try:
        temp.replace(target)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise


def write_target(path: Path) -> Path:
    """Return the path that a write goes to, after following a symlink."""
    if not path.is_symlink():
        return path
    directory = Path(os.path.realpath(path.parent))
    target = directory / path.readlink()
    # realpath, because `Path.resolve` raises a RuntimeError for circular links.
    resolved = Path(os.path.realpath(target.parent)) / target.name
    if not resolved.is_relative_to(directory) or resolved.is_symlink():
        raise StoreError(
            f"{path} is a symlink that leaves its directory.",
            "Replace it with a regular file.",
        )
    return resolved


def append_durable(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Append whole lines to a file, and terminate an unfinished last line first."""
    with explained("append to", path):
        target = write_target(path)
        descriptor = open_regular(target, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
        try:
            size = os.fstat(descriptor).st_size
            unfinished = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            append_all(descriptor, b"\n" + data if unfinished else data)
        finally:
            os.close(descriptor)


def open_regular(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a regular file without following symlinks or blocking on a FIFO."""
    descriptor = os.open(path, flags | _NOFOLLOW | _NONBLOCK, mode)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} is not a regular file.", "Move it elsewhere and try again.")
    return descriptor


def append_all(descriptor: int, data: bytes) -> None:
    """Append and sync. On failure, remove the bytes that were written."""
    start = os.fstat(descriptor).st_size
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
        sync(descriptor)
    except BaseException:
        # Only our own bytes, because another process may have appended since.
        if os.fstat(descriptor).st_size == start + written:
            os.ftruncate(descriptor, start)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`, because `os.write` may write only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync(descriptor: int) -> None:
    """Flush a file's bytes to the disk, with F_FULLFSYNC on macOS."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:
            os.fsync(descriptor)  # network file systems do not support F_FULLFSYNC
    else:
        os.fsync(descriptor)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | _DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(descriptor)


def read_regular(path: Path, *, limit: int = MAX_BYTES) -> bytes | None:
    with explained("read", path):
        try:
            descriptor = os.open(write_target(path), os.O_RDONLY | _NOFOLLOW | _NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ENXIO:  # a socket
                raise DamagedError("not a regular file") from error
            raise
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise DamagedError("not a regular file")
            if info.st_size > limit:
                raise StoreError(
                    f"{path} has {info.st_size:,} bytes, more than the maximum of {limit:,}.",
                    "Move it elsewhere or make it smaller.",
                )
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)


def remove_stale_temps(directory: Path) -> None:
    """Remove the temporary files and folders of writers that died before their rename."""
    import shutil  # rarely needed, and its import costs three milliseconds of each start

    for temp in directory.glob(".*.tmp"):
        pid = temp.name.rsplit(".", 2)[-2].split("-")[0]
        if not pid.isdecimal() or int(pid) == os.getpid() or process_exists(int(pid)):
            continue
        if temp.is_dir():
            shutil.rmtree(temp, ignore_errors=True)
        else:
            temp.unlink(missing_ok=True)


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _mode_of(path: Path) -> int | None:
    try:
        info = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IMODE(info.st_mode) if stat.S_ISREG(info.st_mode) else None


def _free_space(path: Path) -> str:
    try:
        there = os.statvfs(path.parent)
    except OSError:
        return ""
    return f"{there.f_bavail * there.f_frsize / 1e6:,.1f} MB are free there. "


def _hint(error: OSError, path: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{_free_space(path)}Free some disk space and try again. Nothing was lost."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Check the owner and the permissions of the directory."
    if error.errno == errno.ELOOP:
        return "Replace the symlink with a regular file."
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return "Another file is in the way. Move it elsewhere first."
    return "Check the disk and try again."
