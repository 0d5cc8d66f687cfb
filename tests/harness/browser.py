"""A real headless Chromium, driven over its own debugging protocol; what a page's terminal shows."""

import asyncio
import base64
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pyte
from aiohttp import ClientSession, ClientWebSocketResponse
from pydantic import JsonValue, TypeAdapter

from tests.harness.suite import program
from tests.harness.waiting import until

_OBJECT = TypeAdapter(dict[str, JsonValue])

SCREEN = (200, 60)
"""More than any page has; what is drawn stays at its place."""


class Page:
    """One tab. It reads in the background whatever the browser tells."""

    def __init__(self, socket: ClientWebSocketResponse) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, JsonValue] = {}
        self._terminal = pyte.Screen(*SCREEN)
        self._stream = pyte.ByteStream(self._terminal)

    async def listen(self) -> None:
        async for message in self._socket:
            said = _OBJECT.validate_json(message.data)
            number = said.get("id")
            if isinstance(number, int):
                self._answers[number] = said.get("result")
            elif said.get("method") == "Network.webSocketFrameReceived":
                self._draw(_OBJECT.validate_python(said["params"]))

    def _draw(self, params: dict[str, JsonValue]) -> None:
        frame = _OBJECT.validate_python(params["response"])
        if frame["opcode"] == 2:
            self._stream.feed(base64.b64decode(str(frame["payloadData"])))

    async def call(self, method: str, **params: JsonValue) -> JsonValue:
        number = next(self._ids)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        await until(lambda: number in self._answers, what=method)
        return self._answers.pop(number)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._terminal.display)

    async def until_shown(self, text: str) -> None:
        await until(lambda: text in self.text, what=f"{text!r} on the page\n{self.text}")

    async def click(self, x: int = 500, y: int = 400) -> None:
        """Click into the page, so that it has the keyboard."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def press(self, key: str) -> None:
        code: dict[str, JsonValue] = {"key": key, "windowsVirtualKeyCode": ord(key.upper())}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=key, **code)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **code)


@contextlib.asynccontextmanager
async def page_at(url: str, profile: Path) -> AsyncIterator[Page]:
    """A browser of its own with this page open; ended when the block is left."""
    chromium = program("chromium")
    assert chromium
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    words += [f"--disable-{what}" for what in ("background-networking", "component-update", "sync")]
    words += ["--window-size=1280,800"]
    words += ["--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    process = await asyncio.create_subprocess_exec(
        chromium, *words, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    told = profile / "DevToolsActivePort"
    try:
        await until(lambda: told.exists() and len(told.read_text().split()) > 1, what="Chromium")
        port = told.read_text().split()[0]
        async with ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json") as answer:
                tabs = await answer.json()
            tab = next(tab for tab in tabs if tab["type"] == "page")
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                page = Page(socket)
                listening = asyncio.create_task(page.listen())
                try:
                    await page.call("Network.enable")
                    await page.call("Page.navigate", url=url)
                    yield page
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])
    finally:
        process.kill()
        await process.wait()
