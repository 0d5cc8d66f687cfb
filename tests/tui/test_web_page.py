"""The process behind a page of the browser."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from typing import cast

import pytest
from aiohttp import web
from textual_serve.download_manager import DownloadManager

from ralph_tui.tui.web_page import PageProcess
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


async def test_a_server_in_a_hurry_leaves_no_process_behind() -> None:
    async with deaf_page() as page:
        stopping = asyncio.create_task(page.stop())
        await asyncio.wait([stopping], timeout=0.1)
        assert not stopping.done(), "it asks, and waits for an answer"
        stopping.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopping
        await until(lambda: _process_of(page).returncode is not None, what="its end")
