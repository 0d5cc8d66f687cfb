"""Post a notification to a web address: encrypted or to this machine, in bounded time, without following redirects."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from urllib.parse import SplitResult, urlsplit

from ralph_tui import __version__
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.redaction import MIN_VALUE
from ralph_tui.domain.variable_references import (
    HOW,
    Reference,
    ReferenceSyntaxError,
    UnsetVariableError,
    filled,
    references,
    value_of,
)
from ralph_tui.domain.web_addresses import why_not_posted

SECONDS = 10.0
"""Longest a post may take."""

_SETTING = "notify.webhook"
_LONGEST_LINE = 4_096
_LONG_PATH = 20


class WebhookError(Exception):
    """A post that did not arrive; says why in words that name no secret."""


class Webhook:
    """A web address with what its variables stand for; only its host is ever shown."""

    def __init__(self, address: str, values: Sequence[str] = ()) -> None:
        """Take an address that `webhook_of` has checked, and the `values` that variables stand for in it."""
        self._parts = urlsplit(address)
        self._values = tuple(values)

    @property
    def host(self) -> str:
        """The host, which holds no secret."""
        return self._parts.hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be shown nowhere: the values of variables, and a path so long that it may hold a key."""
        target = _target(self._parts)
        values = tuple(value for value in self._values if len(value) >= MIN_VALUE)
        return (*values, target) if len(target) >= _LONG_PATH else values

    async def post(self, body: bytes) -> None:
        """Post a JSON document.

        Raises:
            WebhookError: It did not arrive, or the answer is no success.
        """
        try:
            async with asyncio.timeout(SECONDS):
                status = await self._status_of(body)
        except TimeoutError:
            raise WebhookError(f"no answer within {duration(SECONDS)}") from None
        except ssl.SSLError as error:
            raise WebhookError(f"the encryption failed ({error.reason or 'unknown'})") from None
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            why = getattr(error, "strerror", None) or "no HTTP answer"
            raise WebhookError(str(why)) from None
        if 300 <= status < 400:
            raise WebhookError(f"a redirect (status {status}), and ralph follows none")
        if not 200 <= status < 300:
            raise WebhookError(f"status {status}")

    async def _status_of(self, body: bytes) -> int:
        """Send the request and return the status of the answer."""
        secure = self._parts.scheme == "https"
        port = self._parts.port or (443 if secure else 80)
        context = await asyncio.to_thread(ssl.create_default_context) if secure else None
        reader, writer = await asyncio.open_connection(
            self.host, port, ssl=context, limit=_LONGEST_LINE
        )
        try:
            writer.write(self._head(len(body)) + body)
            await writer.drain()
            version, status, *_ = (await reader.readline()).split(maxsplit=2)
        finally:
            writer.close()
        if not version.startswith(b"HTTP/1."):
            raise ValueError(version)
        return int(status)

    def _head(self, size: int) -> bytes:
        host = self._parts.netloc
        lines = (
            f"POST {_target(self._parts)} HTTP/1.1",
            f"Host: {host}",
            "Content-Type: application/json",
            f"Content-Length: {size}",
            f"User-Agent: ralph-tui/{__version__}",
            "Connection: close",
        )
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


def _target(parts: SplitResult) -> str:
    return f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"


def webhook_of(written: str, environ: Mapping[str, str]) -> Webhook | None:
    """Return the webhook that the settings name; None where they name none.

    Args:
        written: The setting, in which `${NAME}` represents a variable.
        environ: The variables.

    Raises:
        ConfigError: A variable is not set, or it is no address that ralph posts to.
    """
    if not written:
        return None

    values: list[str] = []

    def value(reference: Reference) -> str:
        values.append(value_of(reference, environ))
        return values[-1]

    try:
        address = filled(written, value).strip()
    except ReferenceSyntaxError as error:
        raise ConfigError(f"{_SETTING}: {error}.", HOW) from error
    except UnsetVariableError as error:
        raise ConfigError(
            f"{_SETTING}: {error}.", "Set it, or take the webhook out of the settings."
        ) from error
    if reason := why_not_posted(address):
        named = references(written)
        about = f" (from ${{{named[0].name}}})" if named else ""
        raise ConfigError(
            f"{_SETTING}{about} {reason}.",
            "Give an address such as https://hooks.example.org/path; http is for this machine only.",
        )
    return Webhook(address, values)
