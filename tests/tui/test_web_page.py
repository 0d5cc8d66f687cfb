"""The door of `ralph serve`, and the process behind a page of the browser."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncIterator
from typing import cast

import pytest
from aiohttp import ClientSession, CookieJar, web
from textual_serve.download_manager import DownloadManager

from ralph_tui.tui.web_server import PageProcess, RalphServer
from tests.harness.waiting import until

DEAF = "import time; print('here', flush=True); time.sleep(600)"


class Socket:
    """A page that takes everything."""

    async def send_bytes(self, data: bytes) -> None:
        """Of the screen."""

    async def send_str(self, text: str) -> None:
        """Of the server."""

    async def close(self) -> None:
        """Nobody looks any more."""


@contextlib.asynccontextmanager
async def deaf_page() -> AsyncIterator[PageProcess]:
    socket = cast("web.WebSocketResponse", Socket())
    page = PageProcess([sys.executable, "-c", DEAF], socket, DownloadManager())
    await page.start(80, 24)
    try:
        yield page
    finally:
        with contextlib.suppress(ProcessLookupError):
            _process_of(page).kill()


def _process_of(page: PageProcess) -> asyncio.subprocess.Process:
    assert page._process is not None
    return page._process


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[RalphServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = RalphServer(["false"], "127.0.0.1", port, "p", say=lambda _: None)
    runner = web.AppRunner(await server._make_app())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield server
    finally:
        await runner.cleanup()


async def test_the_door_is_open_to_the_key_and_to_our_own_page_only() -> None:
    async with serving() as server, ClientSession(cookie_jar=CookieJar(unsafe=True)) as browser:
        place, evil = server.public_url, {"Origin": "http://evil.example"}

        async def status(url: str, **headers: str) -> int:
            async with browser.get(url, headers=headers, allow_redirects=False) as answer:
                return answer.status

        assert await status(place) == 403
        assert await status(f"{place}/?key=guess") == 403
        assert await status(server.address, Host="rebound.example") == 403
        assert await status(server.address, **evil) == 403
        async with browser.get(server.address, allow_redirects=False) as answer:
            own, cookie = answer.headers["Location"], answer.headers["Set-Cookie"]
        assert "key=" not in own
        assert {f"Path={own.rstrip('/')}", "HttpOnly", "SameSite=Strict"} <= {*cookie.split("; ")}
        assert await status(place + own) == 200
        assert await status(place) == 403, "the cookie is for the page's own path"
        assert await status(place + own, **evil) == 403
        assert await status(place + own, Host="rebound.example") == 403


async def test_a_server_in_a_hurry_leaves_no_process_behind() -> None:
    async with deaf_page() as page:
        stopping = asyncio.create_task(page.stop())
        await asyncio.wait([stopping], timeout=0.1)
        assert not stopping.done(), "it asks, and waits for an answer"
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        await until(lambda: _process_of(page).returncode is not None, what="its end")
