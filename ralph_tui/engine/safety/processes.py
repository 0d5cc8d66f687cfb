"""Mark the processes of a run, and end all of them.

A mark is an environment variable. Children inherit it even if they detach with setsid or nohup,
so a scan finds them whatever their parent is.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.guard.sandbox.environ_block import without_keys
from ralph_tui.store.project_root import AGENT_OF

if TYPE_CHECKING:
    from psutil import Process

T = TypeVar("T")

RUN_MARK = "RALPH_TUI_RUN"
"""Set in every process that a run starts; its value is the run id."""

SESSION_MARK = "RALPH_TUI_SESSION"
"""Set in every process that an agent session starts; its value is unique to the session."""

GRACE_SECONDS = 2.0

ROUNDS = 5


def _found(found: Callable[["Process", Mapping[str, str]], T | None]) -> list[T]:
    """Return what is found in each other process and its environment. A zombie has none any more."""
    import psutil

    results = []
    for process in psutil.process_iter():
        # It may have ended meanwhile, or not be readable.
        with contextlib.suppress(psutil.Error, OSError):
            if (
                process.pid != os.getpid()
                and (one := found(process, process.environ())) is not None
            ):
                results.append(one)
    return results


def marked_pids(name: str, value: str) -> list[int]:
    """Return the ids of processes, except this one, that have the mark in their environment."""
    return _found(lambda process, environ: process.pid if environ.get(name) == value else None)


class MarkedProcess(NamedTuple):
    """A process that this run started indirectly, so that it is not a child of ours."""

    pid: int
    started: float
    session: str
    """The mark of the agent session it belongs to; empty for a check, a step or a hook."""


def marked_descendants(name: str, value: str) -> frozenset[MarkedProcess]:
    """Return the marked processes except our own children, which are the agent's CLIs and the checks."""

    def found(process: "Process", environ: Mapping[str, str]) -> MarkedProcess | None:
        if environ.get(name) != value or process.ppid() == os.getpid():
            return None
        return MarkedProcess(process.pid, process.create_time(), environ.get(SESSION_MARK, ""))

    return frozenset(_found(found))


def end_marked(name: str, value: str, *, grace: float = GRACE_SECONDS) -> int:
    """Terminate, then kill, every process with the mark; return how many there were.

    Scans until none is left, because a process may fork while it is being ended.
    """
    ended = 0
    for _ in range(ROUNDS):
        victims = marked_pids(name, value)
        if not victims:
            break
        ended += len(victims)
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for victim in victims:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(victim, sent)
            if _wait_until_gone(name, value, victims, grace):
                break
    return ended


def _wait_until_gone(name: str, value: str, victims: list[int], grace: float) -> bool:
    deadline = time.monotonic() + grace
    while set(victims) & set(marked_pids(name, value)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Watchdog:
    """A small process that ends every process of this run when ralph dies, even by kill -9.

    It waits for the end of file on a pipe that only ralph has open, then ends all processes with the run's
    mark. It works wherever psutil can read environments, not only on Linux.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ralph_tui.engine.safety.processes", self._run_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=without_keys(os.environ),
        )

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            process.wait()


def _watch(run_id: str) -> None:
    """Block until the pipe closes, then end the run's processes."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # it must outlive what it watches
    while sys.stdin.buffer.read(4096):
        pass
    end_marked(RUN_MARK, run_id)


if __name__ == "__main__":
    _watch(sys.argv[1])


HOW_TO_END = "End them with `ralph doctor --end-strays`, or start the run with --yes."
_SHOWN = 5


@dataclass(frozen=True)
class OrphanProcess:
    """A process left by a run that died."""

    pid: int
    run_id: str
    command: str

    @property
    def shown(self) -> str:
        return f"pid {self.pid} ({one_line(self.command, 60)})"


def find_orphans(root: Path) -> tuple[OrphanProcess, ...]:
    """Return the processes left by earlier runs of this project. Call it only while no loop of the project runs."""
    here = os.path.realpath(root)

    def found(process: "Process", environ: Mapping[str, str]) -> OrphanProcess | None:
        run_id = environ.get(RUN_MARK)
        if not run_id or environ.get(AGENT_OF) != here:
            return None
        command = " ".join(process.cmdline()) or process.name()
        return OrphanProcess(process.pid, run_id, command)

    return tuple(_found(found))


def end_orphans(orphans: tuple[OrphanProcess, ...]) -> None:
    for run_id in {orphan.run_id for orphan in orphans}:
        end_marked(RUN_MARK, run_id)


def described(orphans: tuple[OrphanProcess, ...]) -> str:
    names = shortlist([orphan.shown for orphan in orphans], _SHOWN)
    one = len(orphans) == 1
    what = "A process" if one else f"{len(orphans)} processes"
    return f"{what} left by a run that died {'is' if one else 'are'} still running: {names}."
