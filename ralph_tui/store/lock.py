"""Provide two locks: one for a transaction of milliseconds, and one for a whole run of the loop.

Both are locks of the operating system: a process that dies releases them, and a suspended one keeps them. The
owner record is for people, and for file systems shared between hosts.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Record, Timestamp
from ralph_tui.domain.errors import LockedError, StoreError
from ralph_tui.store import project_dir
from ralph_tui.store.io.files import (
    DamagedError,
    explained,
    process_exists,
    read_regular,
    write_all,
)
from ralph_tui.store.layout import Layout
from ralph_tui.store.project_root import AGENT_OF

if TYPE_CHECKING:
    from filelock import BaseFileLock

WRITE_TIMEOUT = 30.0
"""Seconds that a transaction waits for another one. A transaction takes milliseconds."""

POLL_SECONDS = 0.01
ZOMBIE = "zombie"
_PROC = Path("/proc")


class Owner(Record):
    """The process that runs the loop of a project, as written in `.ralph/lock`."""

    pid: int
    host: str
    since: Timestamp
    run_id: str = ""
    started: Timestamp | None = None
    start_token: str = ""
    """Identifies the process: a later process with the same pid has another token."""
    boot: str = ""
    """Identifies the machine's boot, so that a renamed host is recognized; empty when unknown."""
    feature: str = Field(default="", exclude_if=lambda name: not name)
    """The feature that the loop works on."""
    confined: bool = True
    """Whether the agent's commands run in a sandbox."""


@contextmanager
def write_lock(layout: Layout, timeout: float = WRITE_TIMEOUT) -> Iterator[None]:
    """Hold the lock of a transaction against other threads and processes."""
    from filelock import SoftFileLock, Timeout

    refuse_agent(layout)
    project_dir.require(layout)  # filelock would recreate a missing directory
    lock = file_lock(layout.write_lock)
    with explained("lock", layout.write_lock):
        try:
            lock.acquire(timeout=timeout, poll_interval=POLL_SECONDS)
        except Timeout as error:
            raise StoreError(
                f"{_holder(layout.write_lock)} has kept {layout.dot} locked for {timeout:g} seconds.",
                "Wait for that process or end it, then try again.",
            ) from error
    try:
        if not isinstance(lock, SoftFileLock):  # a soft lock stores its own marker in the file
            with explained("lock", layout.write_lock):
                _write_record(layout.write_lock, f"{os.getpid()}\n".encode())
        yield
    finally:
        lock.release()


def refuse_agent(layout: Layout) -> None:
    """Refuse writes from any process that an agent started, directly or indirectly. It may only read."""
    root = os.path.realpath(layout.root)
    if os.environ.get(AGENT_OF) == root or _may_be_agents(root, layout.lock, os.getpid()):
        raise StoreError(
            "The agent that works on this project may not change its state.",
            "Continue the task with the ralph_* tools. The person decides the rest, in a terminal.",
        )


@lru_cache(maxsize=64)  # checked in each transaction, and ancestors stay the same
def _may_be_agents(root: str, lock: Path, pid: int) -> bool:
    """Return whether an agent started the process, or may have, if it has shaken off its parents and its mark."""
    wanted = os.fsencode(f"{AGENT_OF}={root}")
    loop = _read_owner(lock)
    # Whether nothing holds an agent's commands, and so far all is younger than the loop and without a terminal.
    left = loop is not None and not loop.confined and not provably_gone(loop)
    try:
        since = int(loop.start_token.rpartition(":")[2]) if loop is not None and left else 0
        while pid:
            fields = _stat_fields(pid)
            if pid == 1 or fields[NAME] == "systemd":  # it adopts what has lost its parent
                return left
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                return True
            left = left and fields[TERMINAL] == "0" and int(fields[STARTED]) > since
            pid = int(fields[PARENT])
    except (OSError, ValueError, IndexError):  # no /proc, or another user's process
        pass
    return False


NAME, STATE, PARENT, TERMINAL, STARTED = 0, 1, 2, 5, 20


def _stat_fields(pid: int) -> list[str]:
    text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    name, _, rest = text.partition("(")[2].rpartition(")")
    return [name, *rest.split()]


COMMAND_RUN_IDS = frozenset({"archive", "reset"})
"""Run ids of commands that take the loop's lock while they work."""


class LoopLock:
    """Ownership of a project's loop, from `acquire` to `release` or the death of the process.

    Keep a reference for the whole run, because ownership ends when the object is garbage-collected.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._lock: BaseFileLock | None = None
        self._identity: tuple[int, int] | None = None

    def acquire(self, run_id: str, *, confined: bool = True) -> None:
        from filelock import Timeout

        path = self._layout.lock
        # The outer lock makes reading and replacing the record one step, even on file systems
        # without locks.
        with write_lock(self._layout), explained("lock", path):
            lock = file_lock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout as error:
                raise _locked(_read_owner(path), self._layout) from error
            try:
                self.require_free()
                known = {"feature": self._layout.feature, "confined": confined}
                record = this_process(run_id).model_copy(update=known)
                _write_record(path, record.model_dump_json().encode() + b"\n")
                info = path.stat()
            except BaseException:
                lock.release()
                raise
        self._lock, self._identity = lock, (info.st_dev, info.st_ino)

    def release(self) -> None:
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            if self._is_our_file():
                with explained("unlock", self._layout.lock):
                    _write_record(self._layout.lock, b"")
        finally:
            lock.release()

    @property
    def held(self) -> bool:
        return self._lock is not None and self._is_our_file()

    def owner(self) -> Owner | None:
        owner = _read_owner(self._layout.lock)
        return None if owner is None or provably_gone(owner) else owner

    def killed(self) -> Owner | None:
        """Return the last owner of this feature's loop if it died without releasing the lock, else None."""
        owner = _read_owner(self._layout.lock)
        if (
            owner is None
            or owner.run_id in COMMAND_RUN_IDS
            or owner.feature != self._layout.feature
        ):
            return None
        return owner if provably_gone(owner) else None

    def feature_owner(self) -> Owner | None:
        owner = self.owner()
        return owner if owner is not None and owner.feature == self._layout.feature else None

    def require_free(self) -> None:
        project_dir.require(self._layout)
        owner = self.owner()
        if owner is not None:
            raise _locked(owner, self._layout)

    def _is_our_file(self) -> bool:
        try:
            info = self._layout.lock.lstat()
        except FileNotFoundError:
            return False
        return (info.st_dev, info.st_ino) == self._identity


def this_process(run_id: str) -> Owner:
    import psutil

    pid = os.getpid()
    return Owner(
        pid=pid,
        host=os.uname().nodename,
        since=datetime.now(UTC),
        run_id=run_id,
        started=datetime.fromtimestamp(psutil.Process(pid).create_time(), UTC),
        start_token=start_token(pid) or "",
        boot=boot_id(),
    )


def provably_gone(owner: Owner) -> bool:
    """Return whether the owner is certainly dead. Always False for an owner on another host."""
    if not _is_this_host(owner):
        return False
    if not process_exists(owner.pid):
        return True
    token = start_token(owner.pid)
    return bool(owner.start_token) and token is not None and token != owner.start_token


def start_token(pid: int) -> str | None:
    """Return a token that distinguishes processes with the same id, or None when it is unknown.

    The token of a dead process that its parent has not reaped yet is `zombie`.
    """
    return _linux_token(pid) if _PROC.is_dir() else _portable_token(pid)


def _linux_token(pid: int) -> str | None:
    try:
        fields = _stat_fields(pid)
    except OSError:
        return None
    # Ticks since boot do not change when the wall clock is set.
    return ZOMBIE if fields[STATE] in "ZX" else f"{boot_id()}:{fields[STARTED]}"


def _portable_token(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        zombie = process.status() == psutil.STATUS_ZOMBIE
        return ZOMBIE if zombie else f"{process.create_time():.2f}"
    except psutil.Error:
        return None


def boot_id() -> str:
    """Return the id of the machine's current boot, or an empty string when it is unknown."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _is_this_host(owner: Owner) -> bool:
    same_boot = bool(owner.boot) and owner.boot == boot_id()
    return same_boot or owner.host == os.uname().nodename


def file_lock(path: Path) -> "BaseFileLock":
    from filelock import FileLock

    # Not thread-local: a lock taken in one worker thread may be released in another.
    return FileLock(path, mode=0o600, thread_local=False)


def _read_owner(path: Path) -> Owner | None:
    try:
        data = read_regular(path)
        return Owner.model_validate_json(data) if data and data.strip() else None
    except (DamagedError, ValidationError):
        return None


def _write_record(path: Path, data: bytes) -> None:
    """Overwrite a lock file's content in place, because a rename would replace the lock itself."""
    flags = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    try:
        os.ftruncate(descriptor, 0)
        write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    try:
        pid = (read_regular(path) or b"").strip().decode("ascii", "replace")
    except DamagedError:
        pid = ""
    return f"Another ralph (pid {pid})" if pid.isdecimal() else "Another ralph"


def _locked(owner: Owner | None, layout: Layout) -> LockedError:
    if owner is None:
        return LockedError(
            f"Another ralph is starting the loop of {layout.root}.",
            "Try again in a moment. See who it is with `ralph status`.",
        )
    started = owner.started or owner.since
    who = f"pid {owner.pid}, started {started:%Y-%m-%d %H:%M:%S} UTC"
    if not _is_this_host(owner):
        return LockedError(
            f"The loop of {layout.root} is owned by another host ({owner.host}, {who}).",
            f"Stop the loop there. If you are sure that it has ended, delete {layout.lock}.",
        )
    return LockedError(
        f"The loop of {layout.root} is already running ({who}).",
        f"Watch it with `ralph status`, stop it with `ralph stop`, or end process {owner.pid}.",
    )
