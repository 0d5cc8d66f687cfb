"""Mark the processes of a run, and end every one of them.

A mark is an environment variable that children inherit, also those that detach with setsid or nohup
(SDK-FACTS section 6.8), so a scan finds them whoever their parent is by then.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from ralph_tui.guard.sandbox.environ_block import without_keys

RUN_MARK = "RALPH_TUI_RUN"
"""Set in everything a run of the loop starts; its value is the run id."""

SESSION_MARK = "RALPH_TUI_SESSION"
"""Set in everything one agent session starts; its value is unique to the session."""

GRACE_SECONDS = 2.0

ROUNDS = 5


def marked(name: str, value: str) -> list[int]:
    """Return the process ids, other than ours, that carry the mark in their environment."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(name) == value:
                found.append(process.pid)  # a zombie has no environment any more
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to read
            continue
    return found


class MarkedProcess(NamedTuple):
    """A process that this run started, not as its own child."""

    pid: int
    started: float
    session: str
    """The mark of the agent session it belongs to; empty for a check, a step or a hook."""


def marked_below(name: str, value: str) -> frozenset[MarkedProcess]:
    """Return the processes with the mark but this process's own children, which are the agent's CLIs and checks."""
    import psutil

    own, found = os.getpid(), set()
    for pid in marked(name, value):
        try:
            process = psutil.Process(pid)
            if process.ppid() != own:
                session = process.environ().get(SESSION_MARK, "")
                found.add(MarkedProcess(pid, process.create_time(), session))
        except (psutil.Error, OSError):  # gone meanwhile
            continue
    return frozenset(found)


def end_marked(name: str, value: str, *, grace: float = GRACE_SECONDS) -> int:
    """Terminate, then kill, every process with the mark; returns how many there were.

    Scans again until none is left, because a process may fork while it is being ended.
    """
    ended = 0
    for _ in range(ROUNDS):
        victims = marked(name, value)
        if not victims:
            break
        ended += len(victims)
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for victim in victims:
                _send(victim, sent)
            if _wait_gone(name, value, victims, grace):
                break
    return ended


def _send(pid: int, sent: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, sent)


def _wait_gone(name: str, value: str, victims: list[int], grace: float) -> bool:
    """Wait without waitpid: that would take a child's exit status away from asyncio."""
    deadline = time.monotonic() + grace
    while set(victims) & set(marked(name, value)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Watchdog:
    """A tiny process that ends everything of this run when ralph dies, even by kill -9.

    It waits for the end of file on a pipe that only ralph holds open, then ends all processes that
    carry the run's mark. Works wherever psutil reads environments; nothing Linux-only.
    """

    def __init__(self, run_id: str) -> None:
        """Watch over the run with this id."""
        self._run_id = run_id
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the watcher; returns at once."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ralph_tui.engine.safety.processes", self._run_id],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=without_keys(os.environ),
        )

    async def stop(self) -> None:
        """Let the watcher do its last round and wait for it."""
        process = self._process
        if process is None or process.stdin is None:
            return
        self._process = None
        process.stdin.close()
        await asyncio.to_thread(process.wait)


def _watch(run_id: str) -> None:
    """Watch: block on the pipe, then clean up."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)  # it must outlive what it watches
    while sys.stdin.buffer.read(4096):
        pass
    end_marked(RUN_MARK, run_id)


if __name__ == "__main__":
    _watch(sys.argv[1])
