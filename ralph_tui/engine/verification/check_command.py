"""Run one shell command in its own process group, with limits on time and output."""

import asyncio
import contextlib
import os
import re
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from ralph_tui.domain.base import Amount, Model
from ralph_tui.domain.sanitize import tail

KEPT_BYTES = 64 * 1024

GRACE_SECONDS = 2.0

IDLE_SECONDS = 3.0
"""How long a command in watch mode prints nothing before it is ended."""

_LAST_WORDS = 2000
_SMALL, _REST_SECONDS = 4096, 0.01
_WATCHES = re.compile(
    rb"waiting for (?:file )?changes|watching for (?:file )?changes|watch usage|press .{1,12} to (?:show help|quit|run all|rerun)",
    re.IGNORECASE,
)
"""What test runners and compilers print last when they wait for changes."""


class CommandResult(Model):
    """The result of a command."""

    exit_code: int | None
    seconds: Amount
    tail: str
    output: str = ""
    """A longer end of the output, if the caller asked for it."""
    watches: bool = False
    """Whether the command was ended because it waits for files to change, as watch modes do."""


async def run_command(
    command: str,
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    prefix: tuple[str, ...] = (),
    keep: int = 0,
    given: bytes = b"",
) -> CommandResult:
    """Run a shell command and keep the end of its output.

    Every process in the command's process group is ended with it, also on cancellation.

    Args:
        command: The command, for `bash -c`.
        prefix: The program and arguments that start it, such as a sandbox.
        keep: The number of bytes to return as `output`, in addition to the tail.
    """
    started = time.monotonic()
    # We create the pipe: from Python 3.12 on, asyncio's wait() also waits for every process that has
    # asyncio's own pipe open, such as a background child that never ends.
    reader, writer = os.pipe()
    stdin = _stdin_file(given)
    try:
        process = await asyncio.create_subprocess_exec(
            *prefix,
            "bash",
            "-c",
            command,
            cwd=cwd,
            env=dict(environment),
            stdin=stdin,
            stdout=writer,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
        if not isinstance(stdin, int):
            stdin.close()
    kept = bytearray()
    reading = asyncio.create_task(_keep_tail(reader, kept, max(keep, KEPT_BYTES)))
    exit_code: int | None = None
    watches = False
    try:
        async with asyncio.timeout(limit_seconds):
            watches = await _until_it_watches(process, kept)
            exit_code = None if watches else process.returncode
    except TimeoutError:
        pass  # reported by the missing exit code
    finally:
        await asyncio.shield(_end_group(process, reading))
    return CommandResult(
        exit_code=exit_code,
        seconds=max(0.0, time.monotonic() - started),
        tail=tail(kept[-KEPT_BYTES:].decode("utf-8", "replace"), is_cut=len(kept) >= KEPT_BYTES),
        output=kept.decode("utf-8", "replace") if keep else "",
        watches=watches,
    )


async def _until_it_watches(process: asyncio.subprocess.Process, kept: bytearray) -> bool:
    waiting = asyncio.ensure_future(process.wait())
    try:
        before, since = b"", time.monotonic()
        while not (await asyncio.wait([waiting], timeout=IDLE_SECONDS / 6))[0]:
            if kept != before:
                before, since = bytes(kept), time.monotonic()
            elif time.monotonic() - since > IDLE_SECONDS and _WATCHES.search(before[-_LAST_WORDS:]):
                return True
        return False
    finally:
        waiting.cancel()


def _stdin_file(given: bytes) -> IO[bytes] | int:
    """Return the standard input as a file, because a command may not read a pipe to its end."""
    if not given:
        return asyncio.subprocess.DEVNULL
    file = tempfile.TemporaryFile()  # noqa: SIM115  (the caller closes it)
    file.write(given)
    file.seek(0)
    return file


async def _keep_tail(descriptor: int, kept: bytearray, number: int) -> None:
    """Read to the end of file, keep the last bytes and close the descriptor."""
    stream = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(stream)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", 0))
    try:
        while chunk := await stream.read(KEPT_BYTES):
            kept += chunk
            del kept[:-number]
            if len(chunk) < _SMALL:  # each wake-up takes time from the command
                transport.pause_reading()
                await asyncio.sleep(_REST_SECONDS)
                transport.resume_reading()
    finally:
        transport.close()


async def _end_group(process: asyncio.subprocess.Process, reading: "asyncio.Task[None]") -> None:
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
