"""Continues a loop without a terminal: `ralph run --headless --wait` in a process of its own."""

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
from ralph_tui.domain.sanitize import one_line

if TYPE_CHECKING:
    from ralph_tui.cli.printer import Printer
    from ralph_tui.domain.events import Event
    from ralph_tui.engine.control.launch import RemainingWork
    from ralph_tui.store.project import Project

LOG = "background.log"
START_SECONDS = 60.0
"""Longest wait for the new process to own the loop; it takes a second or two."""

SPEAKER = "ralph: "
"""Begins what went wrong; what to do about it is below."""

LOOK_SECONDS = 0.05


def background_starter(
    root: Path, command: str, options: Sequence[str] = (), building: Sequence[str] = ()
) -> "Callable[[RemainingWork], int]":
    """Return what continues, in the background, a run that was started as `ralph COMMAND OPTIONS`.

    Args:
        root: The project directory.
        command: The command that continues it.
        options: Its options that every command of a run knows.
        building: Its options that only commands know which build.
    """

    def go_on(left: "RemainingWork") -> int:
        from ralph_tui.store.project import Project

        doing = "plan" if left.replans else command
        words = ["run" if left.whole else doing, "--headless", "--wait", *options]
        words += () if left.replans else building
        if left.usd is not None:
            words += ["--max-cost", f"{left.usd:.6f}"]
        if left.iterations is not None:
            words += ["--max-iterations", str(left.iterations)]
        words += ["--project-root", str(root)]
        project = Project(root)
        if project.load().project.exists:
            words += ["--feature", shown_name(project.layout.feature)]
        return _start(project, [*words, "-"] if left.request else words, left.request)

    return go_on


def _start(project: "Project", words: Sequence[str], given: str) -> int:
    """Start ralph with these words and return its process id once it owns the loop.

    Args:
        project: The project to run in.
        words: The command line after `ralph`.
        given: The text for its standard input.

    Raises:
        RalphError: It ended first, or took too long.
    """
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
    with contextlib.suppress(BrokenPipeError), process.stdin:  # when it is gone, its exit says so
        process.stdin.write(given.encode())
    deadline = time.monotonic() + START_SECONDS
    while (owner := lock.owner()) is None or owner.pid != process.pid:
        if process.poll() is not None:
            raise RalphError(
                f"The process in the background ended at once: {_last_words(log, before)}",
                f"{log} has what it said; b starts the loop here again.",
            )
        if time.monotonic() > deadline:
            process.terminate()
            raise RalphError(
                "The process in the background did not take the loop over in a minute.",
                f"{log} has what it said; b starts the loop here again.",
            )
        time.sleep(LOOK_SECONDS)
    return process.pid


def _last_words(log: Path, before: int) -> str:
    with log.open("rb") as file:
        file.seek(before)
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    said = max((at for at, line in enumerate(lines) if line.startswith(SPEAKER)), default=-1)
    return one_line(" ".join(lines[said:]).removeprefix(SPEAKER)) if lines else "it said nothing"


def limit_log(printer: "Printer", root: Path) -> "Printer":
    """Return a printer that starts the background's log again whenever it is full; other outputs are left alone.

    A run of a week would fill the disk, and its process cannot be told to open another file.
    """
    from ralph_tui.store.layout import Layout

    log, full = Layout(root).logs / LOG, False

    def write(event: "Event") -> None:
        nonlocal full
        if not full:
            full = not _go_on_in_a_new_one(log)
        printer(event)

    return write if _prints_to(log) else printer


def _go_on_in_a_new_one(log: Path) -> bool:
    """Make room in the log and return whether there is some; the log itself says when none can be made."""
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
    except (OSError, ValueError):  # there is no such log, or standard output is no file
        return False
