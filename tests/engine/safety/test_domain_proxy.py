"""The way out of the sandbox leads to the allowed hosts and nowhere else: `domain_proxy.txt`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ralph_tui.engine.safety.command_sandbox import SandboxRelays, allowed, parse
from tests.harness.tables import Case, Line, each_case, spelled


def reaches(line: Line, _: Path) -> str:
    return "allowed" if allowed(line.name, tuple(line.data.decode().split())) else "refused"


def parsed(line: Line, _: Path) -> str:
    try:
        host, port, head = parse(spelled(f"{line.rest}\\n\\n").replace(b"\n", b"\r\n"))
    except ValueError:
        return "no request to a proxy"
    return f"{host} {port} {head!r}"


@each_case(__file__)
def test_hosts(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"reaches": reaches, "parse": parsed}, tmp_path, pytestconfig)


@contextlib.asynccontextmanager
async def relays(path: Path, *domains: str) -> AsyncIterator[SandboxRelays]:
    served = SandboxRelays(domains)
    await served.serve_proxy(path)
    try:
        yield served
    finally:
        await served.close()


@contextlib.asynccontextmanager
async def echo() -> AsyncIterator[int]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(b"echo " + line)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def said(path: Path, words: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(words)
    writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


async def test_an_allowed_host_is_reached_and_another_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    async with echo() as port, relays(tmp_path / "p", "localhost"):
        tunnel = f"CONNECT localhost:{port} HTTP/1.1\r\n\r\nhello\n".encode()
        assert (await said(tmp_path / "p", tunnel)).endswith(b"\r\n\r\necho hello\n")
        plain = f"GET http://localhost:{port}/x HTTP/1.1\r\n\r\n".encode()
        assert b"echo GET /x HTTP/1.1" in await said(tmp_path / "p", plain)
        other = f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\nhello\n".encode()
        answer = await said(tmp_path / "p", other)
        assert answer.startswith(b"HTTP/1.1 403")
        assert b"safety.sandbox_domains" in answer


async def test_this_machines_own_proxy_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[bytes] = []

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nfrom afar")
        writer.close()

    async with await asyncio.start_server(upstream, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("https_proxy", f"http://me:word@127.0.0.1:{port}")
        async with relays(tmp_path / "p", "far.example"):
            got = await said(tmp_path / "p", b"CONNECT far.example:443 HTTP/1.1\r\n\r\n")
    assert got.endswith(b"from afar")
    assert heads[0].startswith(b"CONNECT far.example:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6d29yZA==" in heads[0]


async def test_a_host_that_does_not_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    async with relays(tmp_path / "p", "localhost"):
        got = await said(tmp_path / "p", b"CONNECT localhost:1 HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 502")


async def test_a_proxy_that_answers_without_an_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000)
        with contextlib.suppress(OSError):
            await reader.read()  # until the other side has seen enough
        writer.close()

    async with await asyncio.start_server(upstream, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        async with relays(tmp_path / "p", "far.example"):
            got = await said(tmp_path / "p", b"CONNECT far.example:443 HTTP/1.1\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 502")
    assert b"far.example cannot be reached" in got
