"""Serves the screen to a browser: textual-serve, behind a key that only the person who started it has.

Whoever drives the screen can have an agent run commands. So a page needs the key that was printed on
the terminal, and another web site's page in the same browser gets nothing.
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
from ralph_tui.tui.theme.stylesheets import STYLES

PATIENCE_SECONDS = 5.0
"""Longest wait for a page's process to end when its page has gone."""

CLOSING_SECONDS = 2.0
"""Longest wait for a page to close."""

MOST_CELLS = 2000

Cells = Annotated[int, Field(ge=1, le=MOST_CELLS)]


class PageSize(BaseModel):
    """The size of the page's terminal."""

    width: Cells = 80
    height: Cells = 24


_Said = (
    tuple[Literal["stdin"], str]
    | tuple[Literal["resize"], PageSize]
    | tuple[Literal["focus", "blur"]]
)
_SAID: TypeAdapter[_Said] = TypeAdapter(_Said)
"""What a page says; its pings need no answer, because the socket has its own."""


class PageProcess(AppService):
    """The screen's process behind one page."""

    def __init__(
        self, command: Sequence[str], socket: web.WebSocketResponse, downloads: DownloadManager
    ) -> None:
        """Run nothing yet; `exec` makes the process the program and not a shell around it."""

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
        """Take what the page says: keys, its size, whether it has the focus."""
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
        """Ask the process to end, and kill it if it does not: it may be blocked by output that nobody reads.

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


def _size(request: web.Request) -> PageSize:
    """Return the size that the page was opened with; it reports a new one at once."""
    try:
        return PageSize.model_validate(dict(request.query))
    except ValidationError:
        return PageSize()


HTTP_PORT = 80
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def check_address(host: str, *, let_others_in: bool) -> None:
    """Refuse an address that others can reach, unless that was asked for.

    Raises:
        SetupError: Others could reach it, or nobody could.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise SetupError(
            f"--host {host} is no address.", "Give a numeric one such as 127.0.0.1."
        ) from error
    if address.is_unspecified:
        raise SetupError(
            f"--host {host} means every address of this machine.",
            "Name the one that is to be typed into the browser.",
        )
    if not (address.is_loopback or let_others_in):
        raise SetupError(
            f"Others can reach {host}, and whoever opens the screen can run commands as you.",
            "Say --let-others-in if that is what you want; nothing on the way is encrypted.",
        )


class RalphServer(Server):
    """One process of `command` per open page; each page shows the same loop."""

    def __init__(
        self,
        command: Sequence[str],
        host: str,
        port: int,
        title: str,
        *,
        say: Callable[[str], None],
    ) -> None:
        """Serve on one address; `say` gets the line with the address to open."""
        self.key = secrets.token_urlsafe(24)
        # Browsers send a cookie to every port of a host, such as the server of the project itself;
        # they send it only below its path, which nobody else knows.
        name = secrets.token_hex(12)
        self._path, self._cookie = f"/{name}", f"ralph-{name}"
        self._command = command
        self._place = _place(host, port)
        self._say = say
        self._pages: set[asyncio.Task[object]] = set()
        self.browser = False
        """Whether to open a browser once it can connect."""
        super().__init__(
            "", host, port, title, public_url=f"http://{self._place}", templates_path=STYLES
        )

    @property
    def address(self) -> str:
        """The address to open, with the key."""
        return f"{self.public_url}/?key={self.key}"

    def run(self) -> None:
        """Serve until Ctrl+C.

        Raises:
            RalphError: Nobody can listen on that address.
        """
        try:
            web.run_app(
                self._make_app(),
                host=self.host,
                port=self.port,
                access_log=None,
                print=self._listening,  # the moment is what counts, its words are not ours
            )
        except OSError as error:
            raise RalphError(
                f"Cannot listen on {self._place}: {error.strerror or error}.",
                "Choose another --port, or end what uses it.",
            ) from error

    async def on_startup(self, app: web.Application) -> None:
        """Do nothing: nobody can connect before the port is open."""

    async def on_shutdown(self, _: web.Application) -> None:
        """Close the pages; the server would wait a minute for them to go."""
        for page in self._pages:
            page.cancel()
        await asyncio.gather(*self._pages, return_exceptions=True)

    def _listening(self, *_: object) -> None:
        self._say(f"the screen is at {self.address} - Ctrl+C ends it; a running loop continues.")
        if self.browser:
            Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()

    async def _make_app(self) -> web.Application:
        @web.middleware
        async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._door(request, handler)

        app = web.Application(middlewares=[door])
        app.router.add_get("/", self._enter)
        app.add_subapp(self._path, await super()._make_app())
        return app

    async def _door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who has the key, from our own page only."""
        if request.host != self._place:  # a foreign name that was made to point here
            raise web.HTTPForbidden(text=f"Open {self.public_url} instead.\n")
        if request.headers.get("Origin", self.public_url) != self.public_url:
            raise web.HTTPForbidden(text="Another site's page may not use this one.\n")
        given = request.query.get("key") or request.cookies.get(self._cookie, "")
        if not compare_digest(given.encode(), self.key.encode()):
            raise web.HTTPForbidden(text="Open the address that `ralph serve` printed.\n")
        return await handler(request)

    async def _enter(self, _: web.Request) -> web.StreamResponse:
        """Put the key into a cookie: out of the address bar, the history and the referrer."""
        answer = web.HTTPFound(f"{self._path}/")
        answer.set_cookie(self._cookie, self.key, path=self._path, httponly=True, samesite="Strict")
        raise answer

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return the page, which may load and run nothing but its own files."""
        nonce = secrets.token_urlsafe(12)
        words = {
            "title": self.title,
            "base": f"{self._path}/",
            "socket": f"ws://{self._place}{self._path}/ws",
            "nonce": nonce,
        }
        answer = aiohttp_jinja2.render_template("page.html", request, words)
        answer.headers["Content-Security-Policy"] = (
            f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; connect-src 'self' "
            f"ws://{self._place}; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
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


def _place(host: str, port: int) -> str:
    """Return host and port as a browser writes them."""
    name = host if host == "localhost" else str(ipaddress.ip_address(host))
    name = f"[{name}]" if ":" in name else name
    return name if port == HTTP_PORT else f"{name}:{port}"
