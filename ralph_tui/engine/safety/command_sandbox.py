"""Decide once whether the operating system confines the run's commands, and confine those ralph runs itself."""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ralph_tui.config.settings import SafetySettings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.verification.check_commands import SandboxExceptions
from ralph_tui.engine.safety.domain_proxy import SandboxRelays
from ralph_tui.guard.sandbox.os_sandbox import (
    INSTALL,
    LOST_HINT,
    PROXY_PORT,
    Openings,
    Sandbox,
    held_prefix,
    lost,
    sandbox_for,
    short_temporary,
    why_no_sandbox,
)
from ralph_tui.store.backup.mirror import state_home

ON_MACOS = (
    "macOS holds the agent's commands only: the checks that ralph runs are not in the sandbox"
)
_MACOS_SWITCH = "Set safety.sandbox to auto, or run ralph in a Linux container."
_SWITCH = "or set safety.sandbox to auto or off"


@dataclass(frozen=True)
class Confinement:
    """What commands are held to.

    Attributes:
        sandbox: None when nothing holds them.
        warning: What to tell the person when a sandbox was wanted and cannot be had.
        leaves_directory: Whether the CLI's sandbox will leave an empty `.claude` where none was.
    """

    sandbox: Sandbox | None = None
    warning: str = ""
    leaves_directory: bool = False


def confine(root: Path, safety: SafetySettings, environ: Mapping[str, str]) -> Confinement:
    """Check whether the sandbox that the settings want works here.

    Raises:
        SetupError: It is required and does not.
    """
    if safety.sandbox == "off":
        return Confinement()
    required = safety.sandbox == "required"
    if required and sys.platform == "darwin":
        raise SetupError(
            f"The sandbox is required (safety.sandbox), but {ON_MACOS}.", _MACOS_SWITCH
        )
    reason = why_no_sandbox()
    if reason and required:
        raise SetupError(
            f"The sandbox is required (safety.sandbox) and does not work here: {reason}.",
            f"{INSTALL}; {_SWITCH}.",
        )
    if reason:
        return Confinement(
            warning=f"No sandbox holds the agent's commands and the checks: {reason}. "
            "The guard reads commands, but not what scripts do. `ralph doctor` says more."
        )
    held = sandbox_for(
        root,
        Path.home(),
        environ,
        required=required,
        domains=safety.sandbox_domains,
        writable=safety.sandbox_writable,
    )
    own = (os.path.realpath(state_home() / "ralph"),)
    Path(own[0]).mkdir(mode=0o700, parents=True, exist_ok=True)
    held = held.model_copy(update={"deny_read": (*held.deny_read, *own)})
    warning = f"On this machine, {ON_MACOS}." if sys.platform == "darwin" else ""
    leaves = not (root / ".claude").exists()
    return Confinement(sandbox=held, warning=warning, leaves_directory=leaves)


def remove_empty_directories(root: Path, confinement: Confinement) -> None:
    """Remove the empty directories the CLI's sandbox made to have something to protect."""
    if not confinement.leaves_directory:
        return
    for directory, _, _ in os.walk(root / ".claude", topdown=False):
        with contextlib.suppress(OSError):  # not empty: then it is somebody's
            Path(directory).rmdir()


NO_EXCEPTIONS: SandboxExceptions = MappingProxyType({})

Prefix = Callable[[str, tuple[Path, ...]], tuple[str, ...]]
"""The words that start a command in what holds it, and lets it write to more directories; empty where nothing does."""


def unconfined(command: str, writable: tuple[Path, ...]) -> tuple[str, ...]:
    """Return the empty prefix: no sandbox holds commands."""
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
    """Sandboxes, for one run, whatever executes text that a model wrote outside of the agent's session.

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
        self._relays = SandboxRelays(held.domains if held else ())
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
        """Remove the directory and close the ways out."""
        await self._relays.close()
        if self._directory is not None:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def prefix(self, command: str, writable: tuple[Path, ...] = ()) -> tuple[str, ...]:
        """Return the words that start this command; reads files, so call it in a thread."""
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
