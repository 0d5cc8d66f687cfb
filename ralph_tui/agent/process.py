"""Starts the CLI in its own process group, continues it if it is stopped, and ends it.

A terminal sends Ctrl+C to the whole foreground group. The CLI would be interrupted too, and the iteration
that ralph wants to finish would fail. So the SDK, which starts whatever `cli_path` names, gets a small
script. The script leaves the group, removes variables that the agent must not have, which the SDK can only
override, and becomes the CLI. It passes keys through pipes, because every process of the same user can read
the CLI's environment.
"""

import asyncio
import contextlib
import os
import shlex
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.engine.safety.processes import SESSION_MARK, end_marked

if TYPE_CHECKING:
    import psutil
    from claude_agent_sdk import ClaudeSDKClient

SCRIPT = """\
#!/bin/sh
'''exec' {python} -IS "$0" "$@"
'''
import os, sys
os.setpgid(0, 0)
for name in os.environ.pop("RALPH_GUARD_REMOVED", "").split():
    os.environ.pop(name, None)
for name, variable in {piped!r}.items():
    key = os.environ.pop(name, "")
    if key:
        reader, writer = os.pipe()
        os.write(writer, os.fsencode(key))
        os.close(writer)
        os.set_inheritable(reader, True)
        os.environ[variable] = str(reader)
os.execv({cli!r}, [{cli!r}, *sys.argv[1:]])
"""
"""For a shell, which starts Python with it: a first line can name no Python whose path is long or has a blank."""

PIPED_KEYS = {
    "ANTHROPIC_API_KEY": "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_OAUTH_TOKEN": "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
}
"""Keys that the CLI can read from a file descriptor, with the variable for the descriptor's number."""


EXIT_SECONDS = 0.5
"""Time for a healthy CLI to interrupt its tools, and then to exit on its own."""

TERMINATE_SECONDS = 0.3
"""Time for the CLI and its children to react to SIGTERM."""

DISCONNECT_SECONDS = 1.0
"""Time for the SDK to notice that the CLI is gone."""

POLL_SECONDS = 1.0

MAX_STOPS = 5
"""After this many stops, which must be deliberate, the session is replaced."""

CONTINUED = "The Claude Code CLI was suspended (SIGSTOP). Ralph resumed it."


def launch_script(python: str, cli: str) -> str:
    return SCRIPT.format(python=shlex.quote(python), cli=cli, piped=PIPED_KEYS)


def bundled_cli() -> Path | None:
    import claude_agent_sdk

    path = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    return path if path.is_file() else None


class Launcher:
    """Owns the launch script; `path` is None without a bundled CLI, so that the SDK finds one."""

    def __init__(self) -> None:
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self.path: Path | None = None
        cli = bundled_cli()
        if cli is None:
            return
        self._directory = tempfile.TemporaryDirectory(prefix="ralph-cli-")
        path = Path(self._directory.name) / "claude"
        path.write_text(launch_script(sys.executable, str(cli)), encoding="utf-8")
        path.chmod(0o700)
        self.path = path

    def close(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None


async def connect_cli(client: "ClaudeSDKClient", mark: str, seconds: float) -> None:
    """Connect, and end the CLI on cancellation or timeout, so that the SDK does not wait for it."""
    connecting = asyncio.create_task(client.connect(), name="ralph-sdk-connect")
    try:
        await asyncio.wait([connecting], timeout=seconds)
    finally:
        if not connecting.done():
            connecting.cancel()
            await asyncio.shield(asyncio.to_thread(_end, mark))
            await asyncio.wait([connecting], timeout=DISCONNECT_SECONDS)
    if connecting.cancelled():
        raise TimeoutError
    await connecting


async def end_cli(
    client: "ClaudeSDKClient", mark: str, *, responsive: bool, tools_running: bool
) -> None:
    """End the CLI and every process with its mark. Call it in a task that is never cancelled.

    Args:
        responsive: Whether the CLI still responds, so that it can exit on its own.
        tools_running: Whether there are running tools to interrupt first.
    """
    from claude_agent_sdk import ClaudeSDKError

    if tools_running and responsive:
        try:  # so that the tools end cleanly
            await asyncio.wait_for(client.interrupt(), EXIT_SECONDS)
        except (ClaudeSDKError, OSError, TimeoutError):
            responsive = False
    disconnecting = asyncio.create_task(client.disconnect(), name="ralph-sdk-disconnect")
    await asyncio.wait([disconnecting], timeout=EXIT_SECONDS if responsive else 0.0)
    await asyncio.to_thread(_end, mark)
    await asyncio.wait([disconnecting], timeout=DISCONNECT_SECONDS)
    disconnecting.cancel()
    with contextlib.suppress(ClaudeSDKError, OSError, asyncio.CancelledError):
        await disconnecting


def _end(mark: str) -> None:
    end_marked(SESSION_MARK, mark, grace=TERMINATE_SECONDS)


async def continue_when_stopped(
    mark: str, emit: Callable[[ev.Notice], None], give_up: Callable[[str], None]
) -> None:
    """Continue a session's CLI whenever it is stopped, until it exits. Run it as a task.

    Args:
        give_up: Receives the reason if the CLI is stopped too often.
    """
    import psutil

    process = await asyncio.to_thread(_cli_of, mark)
    stops = 0
    while process is not None and stops < MAX_STOPS:
        await asyncio.sleep(POLL_SECONDS)
        try:
            stopped = process.status() == psutil.STATUS_STOPPED
        except psutil.Error:  # it has exited
            return
        except OSError:  # out of file descriptors, perhaps not at the next poll
            continue
        if stopped:
            stops += 1
            process.send_signal(signal.SIGCONT)
            emit(ev.Notice(level="warning", text=CONTINUED))
    if stops:
        give_up(f"it was suspended {stops} times")


def _cli_of(mark: str) -> "psutil.Process | None":
    import psutil

    for child in psutil.Process(os.getpid()).children():
        try:
            if child.environ().get(SESSION_MARK) == mark:
                return child
        except (psutil.Error, OSError):  # it has exited
            continue
    return None
