"""Decide whether a sandbox confines the run's commands, and start ralph's own commands in it."""

import asyncio
import base64
import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from urllib.parse import unquote, urlsplit

from ralph_tui.config.settings import SafetySettings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.verification.check_commands import SandboxExceptions
from ralph_tui.guard.sandbox.environment import repository
from ralph_tui.guard.sandbox.os_sandbox import (
    INSTALL,
    NOT_HELD,
    PROXY_PORT,
    RUN_BY_OTHERS,
    SANDBOX_LOST_HINT,
    Sandbox,
    SandboxAccess,
    lost,
    sandbox_for,
    sandbox_prefix,
    sandbox_problem,
    short_temporary,
)
from ralph_tui.store.backup.mirror import state_home
from ralph_tui.store.io.quarantine import set_aside

HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 30.0
CONNECT_SECONDS = 30.0
_CHUNK = 64 * 1024
_REFUSED = (
    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "ralph: {host} is not in safety.sandbox_domains\n"
)
_UNREACHABLE = (
    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    "ralph: {host} cannot be reached: {error}\n"
)
_DEFAULT_PORTS = {"http": 80, "https": 443}

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def allowed(host: str, domains: tuple[str, ...]) -> bool:
    """Return whether a host is one of the domains; `*.example.com` is every host below example.com."""
    return any(
        host.endswith(d[1:]) if d.startswith("*.") else host == d
        for d in (domain.lower() for domain in domains)
    )


def parse(head: bytes) -> tuple[str, int, bytes]:
    """Return the host in lower case, the port and the request head to send there; none for a tunnel (CONNECT)."""
    line, _, rest = head.decode("latin-1").partition("\r\n")
    method, target, version = line.split(" ")
    if method == "CONNECT":
        address = urlsplit(f"//{target}")
        if not address.hostname or not address.port:
            raise ValueError(target)
        return address.hostname.lower(), address.port, b""
    address = urlsplit(target)
    if not address.hostname or address.scheme not in _DEFAULT_PORTS:
        raise ValueError(target)
    path = address._replace(scheme="", netloc="").geturl() or "/"
    kept = [
        text
        for text in rest.split("\r\n")
        if text and not text.lower().startswith(("proxy-", "connection:"))
    ]
    lines = (f"{method} {path} {version}", *kept, "Connection: close", "", "")
    port = address.port or _DEFAULT_PORTS[address.scheme]
    return address.hostname.lower(), port, "\r\n".join(lines).encode("latin-1")


class SandboxRelays:
    """Serves the Unix sockets of one run: the proxy, and one for each opened local port."""

    def __init__(self, domains: tuple[str, ...]) -> None:
        self._domains = domains
        self._servers: list[asyncio.Server] = []
        self._clients: set[asyncio.Task[None]] = set()

    async def serve_proxy(self, path: Path) -> None:
        await self._listen(path, self._proxy)

    async def serve_port(self, path: Path, port: int) -> None:
        """Relay clients at `path` to a port of this machine's loopback interface."""

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with contextlib.suppress(OSError):
                await _relay((reader, writer), await asyncio.open_connection("127.0.0.1", port))

        await self._listen(path, relay)

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def _listen(
        self,
        path: Path,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    ) -> None:
        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._clients.add(task)
            try:
                await serve(reader, writer)
            except (OSError, asyncio.CancelledError):
                pass  # the client disconnected, or the run is over
            finally:
                self._clients.discard(task)
                writer.close()

        self._servers.append(await asyncio.start_unix_server(client, path, limit=HEAD_BYTES))

    async def _proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            host, port, forwarded = parse(head)
        except (ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
            return
        if not allowed(host, self._domains):
            writer.write(_REFUSED.format(host=host).encode())
            return
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                far = await _connect(host, port)
        except (
            OSError,
            ValueError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ) as error:
            writer.write(_UNREACHABLE.format(host=host, error=error).encode())
            return
        if not forwarded:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        far[1].write(forwarded)
        await _relay((reader, writer), far)


async def _connect(host: str, port: int) -> Streams:
    from urllib.request import getproxies, proxy_bypass

    upstream = None if proxy_bypass(host) else getproxies().get("https")
    if not upstream:
        return await asyncio.open_connection(host, port)
    address = urlsplit(upstream if "//" in upstream else f"//{upstream}")
    reader, writer = await asyncio.open_connection(address.hostname, address.port or 80)
    lines = f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n"
    if address.username:
        words = f"{unquote(address.username)}:{unquote(address.password or '')}"
        lines += f"Proxy-Authorization: Basic {base64.b64encode(words.encode()).decode()}\r\n"
    writer.write(f"{lines}\r\n".encode())
    try:
        answer = await reader.readuntil(b"\r\n\r\n")
    except BaseException:
        writer.close()
        raise
    if answer.split(None, 2)[1:2] != [b"200"]:
        writer.close()
        raise OSError(f"the proxy answered {answer.decode('latin-1').splitlines()[0]}")
    return reader, writer


async def _relay(near: Streams, far: Streams) -> None:
    try:
        async with asyncio.TaskGroup() as both:
            both.create_task(_copy_stream(near[0], far[1]))
            both.create_task(_copy_stream(far[0], near[1]))
    except* OSError:
        pass  # one side disconnected, which ends the stream of the other
    finally:
        far[1].close()


async def _copy_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


ON_MACOS = "macOS sandboxes only the agent's commands, not the checks that ralph runs"
_MACOS_HINT = "Set safety.sandbox to auto, or run ralph in a Linux container."


@dataclass(frozen=True)
class Confinement:
    """The sandbox of a run's commands.

    Attributes:
        sandbox: The sandbox, or None without one.
        warning: The warning for the person when the wanted sandbox does not work.
        stood: What stood where the CLI's sandbox will create empty files and directories.
    """

    sandbox: Sandbox | None = None
    warning: str = ""
    stood: frozenset[Path] | None = None


def confine(root: Path, safety: SafetySettings, environ: Mapping[str, str]) -> Confinement:
    """Return the sandbox that the settings want, if it works on this machine."""
    if safety.sandbox == "off":
        return Confinement()
    required = safety.sandbox == "required"
    if required and sys.platform == "darwin":
        raise SetupError(f"The sandbox is required (safety.sandbox), but {ON_MACOS}.", _MACOS_HINT)
    reason = sandbox_problem()
    if reason and required:
        raise SetupError(
            f"The sandbox is required (safety.sandbox) but does not work here: {reason}.",
            f"{INSTALL}, or set safety.sandbox to auto or off.",
        )
    if reason:
        return Confinement(
            warning=f"The agent's commands and the checks run without a sandbox: {reason}. "
            f"Nothing holds back {NOT_HELD}. Run `ralph doctor` for details."
        )
    sandbox = sandbox_for(
        root,
        Path.home(),
        environ,
        required=required,
        domains=safety.sandbox_domains,
        writable=safety.sandbox_writable,
    )
    own = (os.path.realpath(state_home() / "ralph"),)
    Path(own[0]).mkdir(mode=0o700, parents=True, exist_ok=True)
    sandbox = sandbox.model_copy(update={"deny_read": (*sandbox.deny_read, *own)})
    warning = f"On this machine, {ON_MACOS}." if sys.platform == "darwin" else ""
    return Confinement(sandbox=sandbox, warning=warning, stood=frozenset(_mount_points(root)))


def remove_mount_points(root: Path, confinement: Confinement) -> None:
    """Remove the empty files and directories that the CLI's sandbox created in order to protect them."""
    if confinement.stood is None:
        return
    for path in _mount_points(root):
        if path in confinement.stood:
            continue
        with contextlib.suppress(OSError):  # it is in use
            if path.is_dir():
                path.rmdir()
            elif path.stat().st_size == 0:
                path.unlink()


def run_by_others(root: Path) -> frozenset[Path]:
    """Return what the project has of files and directories that other programs run automatically."""
    return frozenset(root / name for name in RUN_BY_OTHERS if os.path.lexists(root / name))


def set_aside_run_by_others(root: Path, stood: frozenset[Path]) -> list[Path]:
    """Rename what a command added to `stood`, as nobody has judged it; return the new names."""
    now = datetime.now(UTC)
    return [set_aside(path, now) for path in sorted(run_by_others(root) - stood)]


_GIT_WRITES_ITSELF = re.compile(r"refs|logs|pack|[0-9a-f]{2}|.*(\.lock|_HEAD)")
"""What git may create at any time, in its directory."""


def _mount_points(root: Path) -> list[Path]:
    """Return what is in `.claude` and git's directory, except git's own objects and references; children first."""
    found: list[Path] = []
    for top in {root / ".claude", Path(repository(root))}:
        for directory, names, files in os.walk(top):
            names[:] = [name for name in names if not _GIT_WRITES_ITSELF.fullmatch(name)]
            found += [Path(directory)]
            found += [Path(directory, n) for n in files if not _GIT_WRITES_ITSELF.fullmatch(n)]
    return found[::-1]


NO_EXCEPTIONS: SandboxExceptions = MappingProxyType({})

Mounts = tuple[tuple[Path, Path, bool], ...]
"""Paths, where a sandboxed command sees each, and whether it may write there; see SandboxAccess."""

Prefix = Callable[[str, tuple[Path, ...], Mounts], tuple[str, ...]]
"""Returns the words that start a command in its sandbox, which may write to more directories; empty without one."""


def unconfined(command: str, writable: tuple[Path, ...], mounts: Mounts) -> tuple[str, ...]:
    del command, writable, mounts
    return ()


SANDBOX_FAILED = "bwrap: "
"""The beginning of the output of a command that the sandbox could not start."""


async def require_sandbox() -> None:
    """Raise `SetupError` if the sandbox no longer works, because then the failure of a command proves nothing."""
    reason = await asyncio.to_thread(sandbox_problem)
    if reason:
        raise SetupError(lost(reason), SANDBOX_LOST_HINT)


class CommandSandbox:
    """Starts commands outside the agent's session in a sandbox, because they may run text that a model wrote.

    The gate, steps and hooks all start their commands through `prefix`.
    """

    def __init__(
        self, root: Path, sandbox: Sandbox | None, exceptions: SandboxExceptions = NO_EXCEPTIONS
    ) -> None:
        """Confine commands in `root`; without a sandbox, and on macOS, they run unconfined."""
        self.root = root
        self._sandbox = None if sys.platform == "darwin" else sandbox
        self._exceptions = {name.strip(): e for name, e in exceptions.items()}
        self._directory: Path | None = None
        self._relays = SandboxRelays(sandbox.domains if sandbox else ())
        self._ports: dict[int, Path] = {}
        self._proxy: dict[int, Path] = {}

    @property
    def holds(self) -> bool:
        return self._sandbox is not None

    async def open(self) -> None:
        """Create the run's temporary directory, and open the proxy and the allowed ports."""
        if self._sandbox is None:
            return
        place = short_temporary()
        directory = Path(await asyncio.to_thread(tempfile.mkdtemp, None, "ralph-checks-", place))
        self._directory = directory
        (directory / "tmp").mkdir()
        if self._sandbox.domains:
            self._proxy[PROXY_PORT] = directory / "proxy"
            await self._relays.serve_proxy(directory / "proxy")
        for port in sorted({p for e in self._exceptions.values() for p in e.ports}):
            self._ports[port] = directory / str(port)
            await self._relays.serve_port(directory / str(port), port)

    async def close(self) -> None:
        await self._relays.close()
        if self._directory is not None:
            await asyncio.to_thread(shutil.rmtree, self._directory, ignore_errors=True)

    def prefix(
        self, command: str, writable: tuple[Path, ...] = (), mounts: Mounts = ()
    ) -> tuple[str, ...]:
        """Return the words that start this command in the sandbox. Blocks on reading files."""
        if self._sandbox is None:
            return ()
        if self._directory is None:
            msg = "the sandbox was not opened"
            raise RuntimeError(msg)
        exception = self._exceptions.get(command.strip())
        ports = {p: self._ports[p] for p in exception.ports} if exception else {}
        openings = SandboxAccess(
            scratch=self._directory / "tmp",
            forwards={**self._proxy, **ports},
            exception=exception,
            writable=writable,
            mounts=mounts,
        )
        return sandbox_prefix(self._sandbox, self.root, openings)
