"""Running one command of the gate: own process group, bounded time, bounded output."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.model import Model, Money
from ralph_tui.domain.text import tail

KEPT_BYTES = 64 * 1024
"""The end of the output that is kept while a command runs."""

GRACE_SECONDS = 2.0


class CommandResult(Model):
    """How a command ended."""

    exit_code: int | None
    """None when it ran out of time."""
    seconds: Money
    tail: str


async def run_command(
    command: str, *, cwd: Path, environment: Mapping[str, str], limit_seconds: float
) -> CommandResult:
    """Run a shell command and keep the end of what it prints.

    Whatever the command started in its process group is ended with it, also on cancellation.
    """
    started = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    kept = bytearray()
    reading = asyncio.create_task(_keep_tail(process, kept))
    exit_code: int | None = None
    try:
        async with asyncio.timeout(limit_seconds):
            exit_code = await process.wait()
    except TimeoutError:
        pass  # told by the missing exit code
    finally:
        await asyncio.shield(_end_group(process, reading))
    return CommandResult(
        exit_code=exit_code,
        seconds=max(0.0, time.monotonic() - started),
        tail=tail(kept.decode("utf-8", "replace")),
    )


async def _keep_tail(process: asyncio.subprocess.Process, kept: bytearray) -> None:
    if process.stdout is None:
        return
    while chunk := await process.stdout.read(KEPT_BYTES):
        kept += chunk
        del kept[:-KEPT_BYTES]


async def _end_group(process: asyncio.subprocess.Process, reading: "asyncio.Task[None]") -> None:
    """End what is left of the group; a background child that holds the pipe must not hold us."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sig)
        done, _ = await asyncio.wait([reading], timeout=GRACE_SECONDS)
        if done:
            break
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await reading
    await process.wait()
