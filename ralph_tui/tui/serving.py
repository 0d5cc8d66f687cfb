"""The screen in a browser: textual-serve, behind a door that only the person who started it can open.

Whoever drives the screen can have an agent run commands. So a page needs the key that was printed on
the terminal, and another web site's page in the same browser gets nothing.
"""

import ipaddress
import secrets
import shlex
import webbrowser
from collections.abc import Awaitable, Callable, Sequence
from hmac import compare_digest
from threading import Thread

from aiohttp import web
from textual_serve.server import Server

from ralph_tui.domain.errors import RalphError, SetupError

COOKIE = "ralph-key"
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
        self, command: Sequence[str], host: str, port: int, *, say: Callable[[str], None]
    ) -> None:
        """Serve on one address; `say` gets the line with the address to open."""
        self.key = secrets.token_urlsafe(24)
        self._place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._say = say
        self.browser = False
        """Open a browser once it can connect."""
        super().__init__(
            shlex.join(command), host, port, "ralph", public_url=f"http://{self._place}"
        )

    @property
    def address(self) -> str:
        """What to open; the key in it lets the page in."""
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
        """Nothing yet: nobody can connect before the port is open."""

    def _listening(self, *_: object) -> None:
        self._say(f"the screen is at {self.address} - Ctrl+C ends it; a loop that runs goes on.")
        if self.browser:
            Thread(target=webbrowser.open, args=(self.address,), daemon=True).start()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()

        @web.middleware
        async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._door(request, handler)

        app.middlewares.append(door)
        return app

    async def _door(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Let in who has the key, from our own page only."""
        if request.host != self._place:  # a foreign name that was made to point here
            raise web.HTTPForbidden(text=f"Open {self.public_url} instead.\n")
        if request.headers.get("Origin", self.public_url) != self.public_url:
            raise web.HTTPForbidden(text="Another site's page may not use this one.\n")
        given = request.query.get("key") or request.cookies.get(COOKIE, "")
        if not compare_digest(given.encode(), self.key.encode()):
            raise web.HTTPForbidden(text="Open the address that `ralph serve` printed.\n")
        if "key" in request.query:  # out of the address bar, the history and the referrer
            answer = web.HTTPFound(request.path)
            answer.set_cookie(COOKIE, self.key, httponly=True, samesite="Strict")
            raise answer
        return await handler(request)
