"""Post a notification to a web address, encrypted or on this machine, with a timeout and without redirects."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ralph_tui import __version__
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.redaction import MIN_VALUE
from ralph_tui.domain.sanitize import one_line
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

_SETTING = "notify.webhook"
_SECRET_PATH_LENGTH = 20


class Webhook:
    """A web address to post to; only its host is ever shown."""

    def __init__(self, address: str, values: Sequence[str] = ()) -> None:
        self._parts = urlsplit(address)
        self._values = tuple(values)

    @property
    def host(self) -> str:
        return self._parts.hostname or ""

    @property
    def secrets(self) -> tuple[str, ...]:
        query = f"?{self._parts.query}" if self._parts.query else ""
        target = f"{self._parts.path or '/'}{query}"
        values = tuple(value for value in self._values if len(value) >= MIN_VALUE)
        return (*values, target) if len(target) >= _SECRET_PATH_LENGTH else values

    async def post(self, body: bytes) -> str:
        """Return why the post failed, without a secret; empty on success."""
        import httpx

        context = await asyncio.to_thread(ssl.create_default_context)
        headers = {"Content-Type": "application/json", "User-Agent": f"ralph-tui/{__version__}"}
        try:
            async with (
                asyncio.timeout(SECONDS),
                httpx.AsyncClient(verify=context, trust_env=False, timeout=SECONDS) as client,
                client.stream(
                    "POST", self._parts.geturl(), content=body, headers=headers
                ) as response,
            ):
                status = response.status_code
        except (TimeoutError, httpx.TimeoutException):
            return f"no response within {duration(SECONDS)}"
        except httpx.ConnectError as error:
            return one_line(str(error), 200)
        except httpx.HTTPError:
            return "no HTTP response"
        if 300 <= status < 400:
            return f"a redirect (status {status}), which ralph does not follow"
        return "" if 200 <= status < 300 else f"status {status}"


def webhook_of(written: str, environ: Mapping[str, str]) -> Webhook | None:
    """Return the webhook of the settings; None if there is none.

    Args:
        written: The setting, in which `${NAME}` is a variable.
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
            f"{_SETTING}: {error}.", "Set the variable, or remove the webhook from the settings."
        ) from error
    if reason := why_not_posted(address):
        named = references(written)
        about = f" (from ${{{named[0].name}}})" if named else ""
        raise ConfigError(
            f"{_SETTING}{about} {reason}.",
            "Use an address such as https://hooks.example.org/path. Plain http is allowed only for this machine.",
        )
    return Webhook(address, values)
