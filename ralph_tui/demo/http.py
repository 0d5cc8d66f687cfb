"""A minimal HTTP/1.1 server side for one loopback client: whole requests in, JSON or chunked streams out.

Written on asyncio streams because the faults a scenario asks for (a stream cut in the middle, a
connection reset) are what a finished HTTP library exists to prevent.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from pydantic import JsonValue

MAX_BODY = 256 * 1024 * 1024


class BadRequestError(Exception):
    """A malformed request. The connection is closed after the error response."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        """Set the status and the sentence."""
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """One request, its header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def host(self) -> str:
        """The host name the client asked for, without the port."""
        host = self.headers.get("host", "")
        return host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host

    @property
    def keeps_alive(self) -> bool:
        """Whether the client may send another request on this connection."""
        return self.headers.get("connection", "").lower() != "close"


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request, or None when the client hung up.

    Raises:
        BadRequestError: The bytes are not a request with a known length.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers too large"
        ) from error
    method, target, headers = _parse_head(head.decode("latin-1"))
    length = _body_length(method, headers)
    try:
        body = await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Request(method=method, target=target, headers=headers, body=body)


def _parse_head(head: str) -> tuple[str, str, dict[str, str]]:
    first, *lines = head.rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise BadRequestError(
            HTTPStatus.BAD_REQUEST, f"not an HTTP/1.1 request line: {first[:80]!r}"
        )
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return parts[0], parts[1], headers


def _body_length(method: str, headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadRequestError(HTTPStatus.LENGTH_REQUIRED, "send a Content-Length")
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise BadRequestError(HTTPStatus.BAD_REQUEST, f"Content-Length {length!r} on {method}")
    if int(length) > MAX_BODY:
        raise BadRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"body over {MAX_BODY} bytes")
    return int(length)


class Reply:
    """The answer to one request: `json`, or `begin`, `chunk` and `end`, or one of the breakages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer on this connection."""
        self._reader = reader
        self._writer = writer

    @property
    def is_over(self) -> bool:
        """Whether the connection was closed from either side."""
        return self._writer.transport.is_closing() or self._reader.at_eof()

    async def json(
        self,
        status: int,
        payload: JsonValue,
        headers: Mapping[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        """Send a whole JSON response.

        Args:
            status: The HTTP status.
            payload: The body.
            headers: Extra headers.
            with_body: False to send only the headers, as HEAD needs.
        """
        body = json.dumps(payload).encode()
        await self.whole(body, "application/json", status, headers, with_body=with_body)

    async def whole(
        self,
        body: bytes,
        kind: str,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        """Send a whole response of any content type.

        Args:
            body: The content.
            kind: The content type.
            status: The HTTP status.
            headers: Extra headers.
            with_body: False to send only the headers.
        """
        lines = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
        self._writer.write(_head(status, lines) + (body if with_body else b""))
        await self._writer.drain()

    async def begin(self, headers: Mapping[str, str] | None = None) -> None:
        """Start a server-sent event stream."""
        lines = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "transfer-encoding": "chunked",
            **(headers or {}),
        }
        self._writer.write(_head(HTTPStatus.OK, lines))
        await self._writer.drain()

    async def chunk(self, data: bytes) -> None:
        """Send a piece of the stream.

        Raises:
            ConnectionError: The client has hung up.
        """
        self._check()
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end(self) -> None:
        """Finish the stream."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def rest(self, seconds: float) -> None:
        """Wait for some seconds, unless there are none.

        Raises:
            ConnectionError: The client hung up meanwhile.
        """
        if seconds > 0:
            await asyncio.sleep(seconds)
            self._check()

    async def hang_until_gone(self) -> None:
        """Send nothing until the client hangs up."""
        while await self._reader.read(65_536):
            pass

    def _check(self) -> None:
        if self.is_over:
            raise ConnectionResetError("the client hung up")

    def cut(self) -> None:
        """Close in the middle of the stream, as a proxy does when it gives up."""
        self._writer.close()

    def reset(self) -> None:
        """Send a TCP reset instead of an answer."""
        raw = cast("socket.socket", self._writer.get_extra_info("socket"))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else "Overloaded"
    lines = [
        f"HTTP/1.1 {status} {reason}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
