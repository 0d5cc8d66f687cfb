"""Implement the server side of HTTP/1.1 for one loopback client.

Requests are read as a whole. Responses are JSON or chunked streams. The module uses asyncio streams, because HTTP
libraries prevent the faults that a scenario needs, such as a truncated stream or a connection reset.
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
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Request:
    """One request. Header names are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def host(self) -> str:
        host = self.headers.get("host", "")
        return host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request, or None when the client has closed the connection."""
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
    """The response to one request: whole, as a stream of chunks, or as a fault."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_over(self) -> bool:
        return self._writer.transport.is_closing() or self._reader.at_eof()

    async def send_json(
        self,
        status: int,
        payload: JsonValue,
        headers: Mapping[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        """Send a whole JSON response.

        Args:
            with_body: False to send only the headers, for HEAD.
        """
        body = json.dumps(payload).encode()
        await self.send(body, "application/json", status, headers, with_body=with_body)

    async def send(
        self,
        body: bytes,
        kind: str,
        status: int = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
        *,
        with_body: bool = True,
    ) -> None:
        lines = {"content-type": kind, "content-length": str(len(body)), **(headers or {})}
        self._writer.write(_head(status, lines) + (body if with_body else b""))
        await self._writer.drain()

    async def begin_stream(self, headers: Mapping[str, str] | None = None) -> None:
        lines = {
            "content-type": "text/event-stream; charset=utf-8",
            "cache-control": "no-cache",
            "transfer-encoding": "chunked",
            **(headers or {}),
        }
        self._writer.write(_head(HTTPStatus.OK, lines))
        await self._writer.drain()

    async def send_chunk(self, data: bytes) -> None:
        self._require_open()
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def end_stream(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def pause(self, seconds: float) -> None:
        if seconds > 0:
            await asyncio.sleep(seconds)
            self._require_open()

    async def hang(self) -> None:
        while await self._reader.read(65_536):
            pass

    def _require_open(self) -> None:
        if self.is_over:
            raise ConnectionResetError("the client closed the connection")

    def cut(self) -> None:
        self._writer.close()

    def reset(self) -> None:
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
