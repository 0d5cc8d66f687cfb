"""Connect the sandbox to allowed hosts through a proxy on a Unix socket, and to opened local ports."""

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

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
