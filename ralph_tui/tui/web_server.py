"""Serves the screen to a browser with textual-serve, protected by a key that only the person who started it has.

Anyone who controls the screen can have an agent run commands. Therefore a page needs the key that was printed to
the terminal, and pages of other sites in the same browser are refused.
"""

import asyncio
import ipaddress
import secrets
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from hmac import compare_digest
from shlex import join
from threading import Thread
from typing import Annotated, Literal

import aiohttp_jinja2
from aiohttp import WSMsgType, web
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager
from textual_serve.server import Server

from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.tui.theme.themes import STYLES

PATIENCE_SECONDS = 5.0
"""Longest wait for a page's process to end after its page has closed."""

CLOSING_SECONDS = 2.0

MAX_CELLS = 2000

Cells = Annotated[int, Field(ge=1, le=MAX_CELLS)]


class PageSize(BaseModel):
    """The size of the page's terminal."""

    width: Cells = 80
    height: Cells = 24


_PageMessage = (
    tuple[Literal["stdin"], str]
    | tuple[Literal["resize"], PageSize]
    | tuple[Literal["focus", "blur"]]
)
_PAGE_MESSAGES: TypeAdapter[_PageMessage] = TypeAdapter(_PageMessage)
"""Validates the messages of a page; its pings need no answer, because the socket has its own."""


class PageProcess(AppService):
    """The screen's process behind one page."""

    def __init__(
        self, command: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        """Run nothing yet; `exec` replaces the shell, so that signals reach the program."""

        async def close() -> None:
            await socket.close()

        super().__init__(
            "exec " + join(command),
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=downloads,
        )

    async def receive(self, text: str) -> None:
        """Handle a message of the page: keys, its size, or whether it has the focus."""
        try:
            message = _PAGE_MESSAGES.validate_json(text)
        except ValidationError:
            return  # a ping, or not a message of our page
        if message[0] == "stdin":
            await self.send_bytes(message[1].encode("utf-8", "replace"))
        elif message[0] == "resize":
            await self.set_terminal_size(message[1].width, message[1].height)
        elif message[0] == "focus":
            await self.focus()
        else:
            await self.blur()

    async def stop(self) -> None:
        """Ask the process to end, and kill it if it does not, because it may be blocked by output that nobody reads.

        If the server cancels this while it waits, the process is killed, too.
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
            pass  # killed below
        finally:
            if process.returncode is None:
                process.kill()
        await process.wait()
        await passing_on

    async def run(self) -> None:
        try:
            await super().run()
        finally:
            await self.remote_close()


async def show_page(
    request: web.Request, command: Sequence[str], downloads: DownloadManager
) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(heartbeat=15, timeout=CLOSING_SECONDS)
    await socket.prepare(request)
    process = PageProcess(command, socket, downloads)
    try:
        size = _size(request)
        await process.start(size.width, size.height)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await process.receive(message.data)
    finally:
        await process.stop()
        await socket.close()
    return socket


def _size(request: web.Request) -> PageSize:
    try:
        return PageSize.model_validate(dict(request.query))
    except ValidationError:
        return PageSize()


HTTP_PORT = 80
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def check_address(host: str, *, let_others_in: bool) -> None:
    """Refuse an address that others can reach, unless `let_others_in` allows it."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise SetupError(
            f"--host {host} is not an IP address.", "Use a numeric address such as 127.0.0.1."
        ) from error
    if address.is_unspecified:
        raise SetupError(
            f"--host {host} means every address of this machine.",
            "Use the one address that the browser will open.",
        )
    if not (address.is_loopback or let_others_in):
        raise SetupError(
            f"Others can reach {host}, and anyone who opens the screen can run commands as you.",
            "To allow this, add --let-others-in. The connection is not encrypted.",
        )


class RalphServer(Server):
    """Serves pages, each with its own process of `command`; all show the same loop."""

    def __init__(
        self,
        command: Sequence[str],
        host: str,
        port: int,
        title: str,
        *,
        say: Callable[[str], None],
    ) -> None:
        """Serve on one address; `say` is called with the line that has the address to open."""
        self.key = secrets.token_urlsafe(24)
        # Browsers send a cookie to every port of a host, such as a server of the project itself, but
        # only below the cookie's path, which nobody else knows.
        name = secrets.token_hex(12)
        self._path, self._cookie = f"/{name}", f"ralph-{name}"
        self._command = command
        self._host_and_port = _host_and_port(host, port)
        self._say = say
        self._pages: set[asyncio.Task[object]] = set()
        self.browser = False
        """Whether to open a browser once the server listens."""
        super().__init__(
            "", host, port, title, public_url=f"http://{self._host_and_port}", templates_path=STYLES
        )

    @property
    def address(self) -> str:
        return f"{self.public_url}/?key={self.key}"

    def run(self) -> None:
        try:
            web.run_app(
                self._make_app(),
                host=self.host,
                port=self.port,
                access_log=None,
                print=self._listening,  # replaces aiohttp's own message once the server listens
            )
        except OSError as error:
            raise RalphError(
                f"Cannot listen on {self._host_and_port}: {error.strerror or error}.",
                "Choose another --port, or stop the program that uses this one.",
            ) from error

    async def on_startup(self, app: web.Application) -> None:
        """Do nothing, because the port is not open yet."""

    async def on_shutdown(self, _: web.Application) -> None:
        """Close the pages, for which the server would otherwise wait a minute."""
        for page in self._pages:
            page.cancel()
        await asyncio.gather(*self._pages, return_exceptions=True)

    def _listening(self, *_: object) -> None:
        self._say(
            f"the screen is at {self.address} (press Ctrl+C to stop serving; a running loop continues)"
        )
        if self.browser:
            Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()

    async def _make_app(self) -> web.Application:
        @web.middleware
        async def check_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.host != self._host_and_port:  # another name that resolves to this address
                raise web.HTTPForbidden(text=f"Open {self.public_url} instead.\n")
            if request.headers.get("Origin", self.public_url) != self.public_url:
                raise web.HTTPForbidden(text="Requests from other sites are not allowed.\n")
            given = request.query.get("key") or request.cookies.get(self._cookie, "")
            if not compare_digest(given.encode(), self.key.encode()):
                raise web.HTTPForbidden(text="Open the address that `ralph serve` printed.\n")
            return await handler(request)

        app = web.Application(middlewares=[check_request])
        app.router.add_get("/", self._enter)
        app.add_subapp(self._path, await super()._make_app())
        return app

    async def _enter(self, _: web.Request) -> web.StreamResponse:
        """Move the key into a cookie, so that it is not in the address bar, the history or the referrer."""
        answer = web.HTTPFound(f"{self._path}/")
        answer.set_cookie(self._cookie, self.key, path=self._path, httponly=True, samesite="Strict")
        raise answer

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return the page, which may load and run only its own files."""
        nonce = secrets.token_urlsafe(12)
        words = {
            "title": self.title,
            "base": f"{self._path}/",
            "socket": f"ws://{self._host_and_port}{self._path}/ws",
            "nonce": nonce,
        }
        answer = aiohttp_jinja2.render_template("page.html", request, words)
        answer.headers["Content-Security-Policy"] = (
            f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; connect-src 'self' "
            f"ws://{self._host_and_port}; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
            "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        answer.headers["Referrer-Policy"] = "no-referrer"
        answer.headers["Cache-Control"] = "no-store"
        return answer

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run a page's process for as long as the page is open."""
        page = asyncio.current_task()
        assert page is not None
        self._pages.add(page)
        try:
            return await show_page(request, self._command, self.download_manager)
        finally:
            self._pages.discard(page)


def _host_and_port(host: str, port: int) -> str:
    name = host if host == "localhost" else str(ipaddress.ip_address(host))
    name = f"[{name}]" if ":" in name else name
    return name if port == HTTP_PORT else f"{name}:{port}"
