"""Real processes: `ralph` itself, and whatever it started, found by a mark in the environment."""

import asyncio
import contextlib
import os
import shlex
import sys
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.demo.server import ModelServer
from tests.harness.model import ServerProcess, cli_environment

MARK = "HARNESS_MARK"
"""Children inherit it, even those that left their session and their parent."""

PYTHON = os.path.realpath(sys.executable)
"""For shebangs and command lines: without our packages, but its path has no blanks and is not below a clone."""

PYTHON_HERE = shlex.quote(sys.executable)
"""For command lines that need our packages."""

PATIENCE = 240.0
"""A whole demo takes 45 s on an idle machine."""


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def last_line(self) -> str:
        return next(reversed(self.stdout.strip().splitlines()), "")


@dataclass(frozen=True)
class Running:
    """A `ralph` that is running; `mark` finds all of its offspring."""

    process: asyncio.subprocess.Process
    mark: str
    environment: Mapping[str, str] = field(repr=False)

    async def finished(self) -> Ran:
        """Wait for its end."""
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Ran(self.process.returncode, out.decode(), err.decode())


def ralph_environment(
    server: ModelServer | ServerProcess | None, tmp: Path, mark: str = ""
) -> dict[str, str]:
    model = cli_environment(server, tmp) if server else {}
    return {**os.environ, **demo_environment(), **model, MARK: mark or uuid.uuid4().hex}


@contextlib.asynccontextmanager
async def ralph_running(
    args: Sequence[str],
    cwd: Path,
    server: ModelServer | ServerProcess | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Running]:
    """Start the real `python -m ralph_tui`; what it left behind is killed at the end."""
    mark = uuid.uuid4().hex
    env = {**ralph_environment(server, cwd.parent), **(environment or {}), MARK: mark}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ralph_tui",
        *args,
        cwd=cwd,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Running(process, mark, env)
    finally:
        for survivor in marked_processes(mark):
            with contextlib.suppress(psutil.NoSuchProcess):
                survivor.kill()
        await process.wait()


async def run_ralph(
    args: Sequence[str],
    cwd: Path,
    server: ModelServer | ServerProcess | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    async with ralph_running(args, cwd, server, environment) as running:
        return await running.finished()


def marked_processes(mark: str) -> list[psutil.Process]:
    return [process for process in psutil.process_iter() if _has_mark(process, mark)]


def _has_mark(process: psutil.Process, mark: str) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return False  # gone meanwhile, or somebody else's
