"""Notices a CLI that something stopped (SIGSTOP), which would otherwise look like one that thinks for hours."""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.engine.processes import SESSION_MARK

if TYPE_CHECKING:
    import psutil

LOOK_SECONDS = 1.0
MOST_STOPS = 5
"""So often it is continued; then somebody keeps stopping it, and the session is replaced."""

CONTINUED = "Something stopped the Claude Code CLI (SIGSTOP). ralph continued it."


async def continue_when_stopped(
    mark: str, emit: Callable[[ev.Notice], None], give_up: Callable[[str], None]
) -> None:
    """Continue the CLI of a session whenever it is stopped, until it is gone; run it as a task.

    Args:
        mark: What the session's processes carry in their environment.
        emit: Takes what a person should know.
        give_up: Takes the reason when the CLI is stopped again and again.
    """
    process = await asyncio.to_thread(_cli_of, mark)
    stops = 0
    while process is not None and stops < MOST_STOPS:
        await asyncio.sleep(LOOK_SECONDS)
        stopped = _stopped(process)
        if stopped is None:
            return
        if stopped:
            stops += 1
            process.send_signal(signal.SIGCONT)
            emit(ev.Notice(level="warning", text=CONTINUED))
    if stops:
        give_up(f"something stopped it {stops} times")


def _cli_of(mark: str) -> "psutil.Process | None":
    """The child of this process with the mark; all others are further down."""
    import psutil

    for child in psutil.Process(os.getpid()).children():
        try:
            if child.environ().get(SESSION_MARK) == mark:
                return child
        except (psutil.Error, OSError):  # gone meanwhile
            continue
    return None


def _stopped(process: "psutil.Process") -> bool | None:
    """Whether it is stopped; None when it is gone."""
    import psutil

    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return None
