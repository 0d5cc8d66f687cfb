"""Continues a loop in the background: `ralph run --headless --wait` in a process of its own."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.cli.console import note
from ralph_tui.domain.errors import RalphError, StoreError
from ralph_tui.domain.features import shown_name
from ralph_tui.domain.project_state import Adjusted, Phase
from ralph_tui.domain.sanitize import one_line

if TYPE_CHECKING:
    from ralph_tui.cli.run.headless import Printer
    from ralph_tui.domain.events import Event
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.store.project import Project

LOG = "background.log"
START_SECONDS = 60.0
"""Longest wait for the new process to own the loop; usually it takes a second or two."""

ERROR_PREFIX = "ralph: "
"""Starts the line of an error message; its hint is on the next line."""

POLL_SECONDS = 0.05


def background_starter(
    root: Path, command: str, options: Sequence[str] = (), building: Sequence[str] = ()
) -> "Callable[[RunRequest, Adjusted], int]":
    def start(request: "RunRequest", left: Adjusted) -> int:
        from ralph_tui.store.project import Project

        name = {None: "run", Phase.PLANNING: "plan"}.get(request.only, command)
        words = [name, "--headless", "--wait", "--project-root", str(root), *options]
        words += () if request.only is Phase.PLANNING else building
        if left.per_session is not None:
            words += ["--max-cost", f"{left.per_session:.6f}"]
        if left.max_iterations is not None:
            words += ["--max-iterations", str(left.max_iterations)]
        project = Project(root)
        if project.load().project.exists:
            words += ["--feature", shown_name(project.layout.feature)]
        return _start(project, [*words, "-"] if request.text else words, request.text)

    return start


def _start(project: "Project", words: Sequence[str], stdin: str) -> int:
    from ralph_tui.store.io.rotation import make_room
    from ralph_tui.store.lock import LoopLock

    make_room(project.layout.logs / LOG)
    log, lock = project.log_path(LOG), LoopLock(project.layout)
    with log.open("ab") as file:
        before = file.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "ralph_tui", *words],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:  # an early exit is noticed below
        process.stdin.write(stdin.encode())
    deadline = time.monotonic() + START_SECONDS
    while (owner := lock.owner()) is None or owner.pid != process.pid:
        if process.poll() is not None:
            raise RalphError(
                f"The process in the background ended at once: {_last_error(log, before)}",
                f"Its output is in {log}. Press b to start the loop here again.",
            )
        if time.monotonic() > deadline:
            process.terminate()
            raise RalphError(
                "The process in the background did not take over the loop within a minute.",
                f"Its output is in {log}. Press b to start the loop here again.",
            )
        time.sleep(POLL_SECONDS)
    return process.pid


def _last_error(log: Path, before: int) -> str:
    with log.open("rb") as file:
        file.seek(before)
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    start = max((at for at, line in enumerate(lines) if line.startswith(ERROR_PREFIX)), default=-1)
    if not lines:
        return "without any output"
    return one_line(" ".join(lines[start:]).removeprefix(ERROR_PREFIX))


def limit_log(printer: "Printer", root: Path) -> "Printer":
    """Return a printer that rotates the background log when it is full; other outputs are left alone.

    The output of a long run would otherwise fill the disk.
    """
    from ralph_tui.store.layout import Layout

    log, full = Layout(root).logs / LOG, False

    def write(event: "Event") -> None:
        nonlocal full
        if not full:
            full = not _rotate_if_full(log)
        printer(event)

    return write if _prints_to(log) else printer


def _rotate_if_full(log: Path) -> bool:
    from ralph_tui.store.io.files import explained
    from ralph_tui.store.io.rotation import make_room, open_log

    try:
        if _prints_to(log) and make_room(log):
            with explained("begin", log):
                fresh = open_log(log)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
                os.dup2(fresh, stream.fileno())
            os.close(fresh)
    except StoreError as error:
        note(f"This log keeps growing. {error}")
        return False
    return True


def _prints_to(log: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(sys.stdout.fileno()), log.lstat())
    except (OSError, ValueError):  # there is no log, or standard output is not a file
        return False
