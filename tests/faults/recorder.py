"""Runs the real `ralph` and writes down every call with which it touches its state.

Started as a process of its own: `python -m tests.faults.recorder LOG DIRECTORY FULL_FROM WORDS...`. What is
touched under DIRECTORY goes to LOG, call by call in the order it happened, with the state that each
transaction led to; from call FULL_FROM on the disk is full, 0 for never.
"""

import errno
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ralph_tui.store.documents import multi_file_commit
from ralph_tui.store.project import Documents, Project

TOUCHING = (
    *("write", "fsync", "replace", "rename", "link", "symlink", "unlink", "mkdir", "rmdir"),
    *("ftruncate", "fchmod", "close"),
)
FREEING = frozenset({"close", "unlink", "rmdir", "ftruncate", "fchmod"})
"""What a full disk still allows."""
STATE = "state"
GITS = frozenset({"work.git", "judge"})
"""What git writes for the snapshots and the judge tree, which can be made again."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Entry(NamedTuple):
    """One call, or the state a transaction led to."""

    name: str
    arguments: tuple[Any, ...]
    result: Any = None


def read_log(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        while file.peek(1):
            yield Entry(*pickle.load(file))


class Recorder:
    """Stands between Python and the system; one call at a time, so that there is an order."""

    def __init__(self, log: Path, directory: Path, full_from: int) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._note = os.write
        self._directory = directory
        self._full_from, self._calls = full_from, 0
        self._ours: set[int] = set()
        self._turn = threading.RLock()
        os.open = self._open(os.open)
        for name in TOUCHING:
            setattr(os, name, self._touching(name, getattr(os, name)))
        multi_file_commit.exchange = self._touching("exchange", multi_file_commit.exchange)
        real = Project.transact

        def transact(project: Project, change: Callable[[Documents], Documents]) -> Documents:
            documents = real(project, change)
            self._write(STATE, (), documents.model_dump_json())
            return documents

        setattr(Project, "transact", transact)  # noqa: B010 - mypy knows no method that changes

    def _write(self, name: str, arguments: tuple[Any, ...], result: Any = None) -> None:
        with self._turn:
            self._note(self._log, pickle.dumps((name, arguments, result)))

    def _concerns(self, first: Any) -> bool:
        if isinstance(first, int):
            return first in self._ours
        path = Path(os.fsdecode(first)).absolute()
        return path.is_relative_to(self._directory) and GITS.isdisjoint(path.parts)

    def _count(self, name: str) -> None:
        self._calls += 1
        if 0 < self._full_from <= self._calls and name not in FREEING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            if not flags & _WRITING or not self._concerns(path):
                return real(path, flags, mode, **more)
            with self._turn:
                self._count("open")
                descriptor = real(path, flags, mode, **more)
                self._ours.add(descriptor)
                self._write("open", (os.fsdecode(path), flags, mode), descriptor)
                return descriptor

        return call

    def _touching(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **more: Any) -> Any:
            if not self._concerns(first):
                return real(first, *rest, **more)
            with self._turn:
                self._count(name)
                if name == "close":  # from then on another thread may open the same number
                    self._ours.discard(first)
                result = real(first, *rest, **more)
                told = [a if isinstance(a, int) else _plain(a) for a in (first, *rest)]
                self._write(name, tuple(told), result)
                return result

        return call


def _plain(argument: Any) -> Any:
    if isinstance(argument, bytes | bytearray | memoryview):
        return bytes(argument)
    return os.fsdecode(argument)


if __name__ == "__main__":
    Recorder(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
    from ralph_tui.cli.main import main

    main(sys.argv[4:])
