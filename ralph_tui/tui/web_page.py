"""One open page of `ralph serve`: its process, which ends with it, whatever either of them does."""

import asyncio
from collections.abc import Sequence
from shlex import join
from typing import Annotated, Literal

from aiohttp import WSMsgType, web
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

PATIENCE_SECONDS = 5.0
"""Longest wait for a page's process to end when its page has gone."""

CLOSING_SECONDS = 2.0
"""Longest wait for a page to take leave."""

MOST_CELLS = 2000

Cells = Annotated[int, Field(ge=1, le=MOST_CELLS)]


class Size(BaseModel):
    """Of the page's terminal."""

    width: Cells = 80
    height: Cells = 24


_Said = (
    tuple[Literal["stdin"], str] | tuple[Literal["resize"], Size] | tuple[Literal["focus", "blur"]]
)
_SAID: TypeAdapter[_Said] = TypeAdapter(_Said)
"""What a page says; its pings want no answer, because the socket has its own."""


class PageProcess(AppService):
    """The screen's process behind one page."""

    def __init__(
        self, command: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        """Nothing runs yet; `exec`, so that the process is the program and not a shell around it."""

        async def close() -> None:
            await socket.close()

        super().__init__(
            "exec " + join(command),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=downloads,
        )

    async def take(self, text: str) -> None:
        """What the page says: keys, its size, whether somebody looks at it."""
        try:
            said = _SAID.validate_json(text)
        except ValidationError:
            return  # a ping, or nothing that our page says
        if said[0] == "stdin":
            await self.send_bytes(said[1].encode("utf-8", "replace"))
        elif said[0] == "resize":
            await self.set_terminal_size(said[1].width, said[1].height)
        elif said[0] == "focus":
            await self.focus()
        else:
            await self.blur()

    async def stop(self) -> None:
        """Ask it to end, and end it when it does not: it may be held up by what nobody reads any more.

        The server does not wait for ever either: cut off while it waits, this leaves no process behind.
        """
        process, passing_on = self._process, self._task
        if process is None or passing_on is None:
            return
        try:
            await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.send_meta({"type": "quit"})
                await process.wait()
        except TimeoutError:
            pass  # it is ended now
        finally:
            if process.returncode is None:
                process.kill()
        await process.wait()
        await passing_on

    async def run(self) -> None:
        """Pass on what it draws; a page whose process has gone is closed, and says so."""
        try:
            await super().run()
        finally:
            await self.remote_close()


async def show_page(
    request: web.Request, command: Sequence[str], downloads: DownloadManager
) -> web.WebSocketResponse:
    """Run `command` for a page until either of them goes."""
    socket = web.WebSocketResponse(heartbeat=15, timeout=CLOSING_SECONDS)
    await socket.prepare(request)
    process = PageProcess(command, socket, downloads)
    try:
        size = _size(request)
        await process.start(size.width, size.height)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await process.take(message.data)
    finally:
        await process.stop()
        await socket.close()
    return socket


def _size(request: web.Request) -> Size:
    """As the page was opened; it says at once when it has another."""
    try:
        return Size.model_validate(dict(request.query))
    except ValidationError:
        return Size()
