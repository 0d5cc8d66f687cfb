"""`CommandSandbox`: holds the commands ralph runs itself, as the CLI holds the agent's."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.verification.check_commands import SandboxExceptions
from ralph_tui.engine.safety.domain_proxy import Relays
from ralph_tui.guard.sandbox import (
    LOST_HINT,
    PROXY_PORT,
    Openings,
    Sandbox,
    held_prefix,
    lost,
    short_temporary,
    why_no_sandbox,
)

NO_EXCEPTIONS: SandboxExceptions = MappingProxyType({})

Prefix = Callable[[str, tuple[Path, ...]], tuple[str, ...]]
"""The words that start a command in what holds it, and lets it write to more directories; empty where nothing does."""


def unheld(command: str, writable: tuple[Path, ...]) -> tuple[str, ...]:
    """The prefix where nothing holds commands."""
    del command, writable
    return ()


NOT_HELD = "bwrap: "
"""What a command says that the sandbox did not start."""


async def require_held() -> None:
    """Make sure that the sandbox still works.

    Raises:
        SetupError: It does not, which says nothing about what was checked.
    """
    reason = await asyncio.to_thread(why_no_sandbox)
    if reason:
        raise SetupError(lost(reason), LOST_HINT)


class CommandSandbox:
    """One run's sandbox for whatever executes text that a model wrote, except in the agent's session.

    The gate, later steps and hooks all start their commands through `prefix`.
    """

    def __init__(
        self, root: Path, held: Sandbox | None, exceptions: SandboxExceptions = NO_EXCEPTIONS
    ) -> None:
        """Hold commands in `root`; without `held`, and on macOS, nothing is held."""
        self._root = root
        self._held = None if sys.platform == "darwin" else held
        self._exceptions = {name.strip(): e for name, e in exceptions.items()}
        self._directory: Path | None = None
        self._relays = Relays(held.domains if held else ())
        self._ports: dict[int, Path] = {}
        self._proxy: dict[int, Path] = {}

    @property
    def holds(self) -> bool:
        """Whether commands are held."""
        return self._held is not None

    async def open(self) -> None:
        """Make the run's temporary directory and the ways out of the sandbox."""
        if self._held is None:
            return
        place = short_temporary()
        directory = Path(await asyncio.to_thread(tempfile.mkdtemp, None, "ralph-checks-", place))
        self._directory = directory
        (directory / "tmp").mkdir()
        if self._held.domains:
            self._proxy[PROXY_PORT] = directory / "proxy"
            await self._relays.serve_proxy(directory / "proxy")
        for port in sorted({p for e in self._exceptions.values() for p in e.ports}):
            self._ports[port] = directory / str(port)
            await self._relays.serve_port(directory / str(port), port)

    async def close(self) -> None:
        """Remove all of it."""
        await self._relays.close()
        if self._directory is not None:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def prefix(self, command: str, writable: tuple[Path, ...] = ()) -> tuple[str, ...]:
        """The words that start this command; looks at files, so call it in a thread."""
        if self._held is None:
            return ()
        if self._directory is None:
            msg = "the sandbox was not opened"
            raise RuntimeError(msg)
        exception = self._exceptions.get(command.strip())
        ports = {p: self._ports[p] for p in exception.ports} if exception else {}
        given = Openings(
            scratch=self._directory / "tmp",
            forwards={**self._proxy, **ports},
            exception=exception,
            writable=writable,
        )
        return held_prefix(self._held, self._root, given)
