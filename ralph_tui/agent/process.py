"""Start the CLI in a process group of its own, continue it when it is stopped, and end it.

A terminal sends Ctrl+C to the whole foreground group; the CLI would take it as its own interrupt and
the iteration that was to be finished would fail. The SDK starts whatever `cli_path` names, so it gets
a small script that leaves our group, drops the variables the agent must not have (an environment
laid over ours can change them, not remove them), and becomes the CLI. The key goes through a pipe: in the
environment of the CLI, every process of the same user could read it.
"""

import asyncio
import contextlib
import os
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
#!{python} -IS
import os, sys
os.setpgid(0, 0)
for name in os.environ.pop("RALPH_GUARD_REMOVED", "").split():
    os.environ.pop(name, None)
for name, told in {handed!r}.items():
    key = os.environ.pop(name, "")
    if key:
        reader, writer = os.pipe()
        os.write(writer, os.fsencode(key))
        os.close(writer)
        os.set_inheritable(reader, True)
        os.environ[told] = str(reader)
os.execv({cli!r}, [{cli!r}, *sys.argv[1:]])
"""

HANDED = {
    "ANTHROPIC_API_KEY": "CLAUDE_CODE_API_KEY_FILE_DESCRIPTOR",
    "CLAUDE_CODE_OAUTH_TOKEN": "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
}
"""Keys that the CLI reads from a descriptor, by the variable that names it."""

MAX_SHEBANG = 127
"""Linux cuts a longer first line."""


LEAVE_SECONDS = 0.5
"""Seconds for a healthy CLI to exit on its own, and before that to interrupt its tools."""

END_SECONDS = 0.3
"""Seconds for the CLI and all its children to react to a SIGTERM."""

LET_GO_SECONDS = 1.0
"""Seconds for the SDK to notice that the CLI is gone."""

LOOK_SECONDS = 1.0

MOST_STOPS = 5
"""After so many stops somebody keeps stopping it on purpose, and the session is replaced."""

CONTINUED = "Something stopped the Claude Code CLI (SIGSTOP). ralph continued it."


def launch_script(python: str, cli: str) -> str:
    """Return the script that turns into `cli`."""
    return SCRIPT.format(python=python, cli=cli, handed=HANDED)


def bundled_cli() -> Path | None:
    """Return the CLI inside the SDK's wheel, or None."""
    import claude_agent_sdk

    path = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    return path if path.is_file() else None


class Launcher:
    """Owns the launch script; `path` is None where scripts cannot be used, and the SDK finds the CLI itself."""

    def __init__(self) -> None:
        """Write the script into a private temporary directory."""
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self.path: Path | None = None
        cli = bundled_cli()
        first_line = f"#!{sys.executable} -IS"
        if cli is None or len(first_line) > MAX_SHEBANG or " " in sys.executable:
            return
        self._directory = tempfile.TemporaryDirectory(prefix="ralph-cli-")
        path = Path(self._directory.name) / "claude"
        path.write_text(launch_script(sys.executable, str(cli)), encoding="utf-8")
        path.chmod(0o700)
        self.path = path

    def close(self) -> None:
        """Remove the script."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None


async def connect_cli(client: "ClaudeSDKClient", mark: str, seconds: float) -> None:
    """Connect, and end a CLI that is cancelled or takes too long before the SDK waits for it.

    Raises:
        TimeoutError: It took longer than `seconds`.
    """
    connecting = asyncio.create_task(client.connect(), name="ralph-sdk-connect")
    try:
        await asyncio.wait([connecting], timeout=seconds)
    finally:
        if not connecting.done():
            connecting.cancel()
            await asyncio.shield(asyncio.to_thread(_end, mark))
            await asyncio.wait([connecting], timeout=LET_GO_SECONDS)
    if connecting.cancelled():
        raise TimeoutError
    await connecting


async def end_cli(client: "ClaudeSDKClient", mark: str, *, well: bool, tools_running: bool) -> None:
    """End the CLI and everything with its mark. Run it in a task that nobody cancels.

    Args:
        client: The SDK's client.
        mark: What the session's processes carry in their environment.
        well: Whether the CLI still answers, so that it may end on its own.
        tools_running: Whether tools run, which are interrupted first.
    """
    from claude_agent_sdk import ClaudeSDKError

    if tools_running and well:
        well = await _interrupted(client)  # so that the tools end in order
    leaving = asyncio.create_task(client.disconnect(), name="ralph-sdk-disconnect")
    await asyncio.wait([leaving], timeout=LEAVE_SECONDS if well else 0.0)
    await asyncio.to_thread(_end, mark)
    await asyncio.wait([leaving], timeout=LET_GO_SECONDS)
    leaving.cancel()
    with contextlib.suppress(ClaudeSDKError, OSError, asyncio.CancelledError):
        await leaving


async def _interrupted(client: "ClaudeSDKClient") -> bool:
    from claude_agent_sdk import ClaudeSDKError

    try:
        await asyncio.wait_for(client.interrupt(), LEAVE_SECONDS)
    except (ClaudeSDKError, OSError, TimeoutError):
        return False
    return True


def _end(mark: str) -> None:
    end_marked(SESSION_MARK, mark, grace=END_SECONDS)


async def continue_when_stopped(
    mark: str, emit: Callable[[ev.Notice], None], give_up: Callable[[str], None]
) -> None:
    """Continue the CLI of a session whenever it is stopped, until it exits. Run it as a task.

    Args:
        mark: What the session's processes carry in their environment.
        emit: Takes what a person should know.
        give_up: Takes the reason when the CLI is stopped again and again.
    """
    process = await asyncio.to_thread(_cli_of, mark)
    stops = 0
    while process is not None and stops < MOST_STOPS:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            stopped = _stopped(process)
        except OSError:  # no descriptor is left to look with; there may be one at the next look
            continue
        if stopped is None:
            return
        if stopped:
            stops += 1
            process.send_signal(signal.SIGCONT)
            emit(ev.Notice(level="warning", text=CONTINUED))
    if stops:
        give_up(f"something stopped it {stops} times")


def _cli_of(mark: str) -> "psutil.Process | None":
    """Return the child of this process that carries the mark, which only the CLI itself is."""
    import psutil

    for child in psutil.Process(os.getpid()).children():
        try:
            if child.environ().get(SESSION_MARK) == mark:
                return child
        except (psutil.Error, OSError):  # gone meanwhile
            continue
    return None


def _stopped(process: "psutil.Process") -> bool | None:
    """Return whether the process is stopped, or None when it is gone."""
    import psutil

    try:
        return process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return None
