"""Checks the address of the model: that something listens there, and that `https` really speaks TLS.

If it does not, the CLI stays silent until its timeout. Only an address that the person configured is checked, and
only by a handshake.
"""

import os
import socket
import ssl
import urllib.request
from collections.abc import Mapping
from urllib.parse import urlsplit

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line

VARIABLE = "ANTHROPIC_BASE_URL"

SECONDS = 5.0
"""The timeout of the connection and of the handshake."""

ADVICE = f"Correct {VARIABLE}. An https:// address needs a port that speaks TLS. A local gateway often uses http://."
_HINT = f"Correct {VARIABLE} or unset it. It comes from your environment."


def check_address(environ: Mapping[str, str] = os.environ) -> None:
    """Refuse an address that is none, at which nothing listens, or that certainly does not speak TLS. Blocks."""
    problem, hint = address_problem(environ)
    if hint:
        raise SetupError(problem, hint)


def address_problem(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return a sentence on what is wrong with the address, or an empty string, and a hint if it is certain. Blocks."""
    url = environ.get(VARIABLE, "").strip()
    if not url:
        return "", ""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    if parts.scheme not in ("http", "https") or not host:
        return f"{VARIABLE} is no web address: {one_line(url, 80)}", _HINT
    if by_proxy(host, parts.scheme):
        return "", ""
    try:
        with socket.create_connection((host, port), SECONDS) as plain:
            is_tls = parts.scheme == "https"
            return _handshake(plain, host, f"{host}:{port}") if is_tls else ("", "")
    except ConnectionRefusedError:
        where = f"{parts.scheme}://{host}:{port}"
        return f"Nothing listens at {where} ({VARIABLE}).", f"Start the gateway there. {_HINT}"
    except (OSError, UnicodeError):
        return "", ""  # it may pass, so the run waits it out


def _handshake(plain: socket.socket, host: str, where: str) -> tuple[str, str]:
    context = ssl.create_default_context()
    # Certificates are the CLI's concern; no data is sent here.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with context.wrap_socket(plain, server_hostname=host):
            return "", ""
    except TimeoutError:
        return f"{where} does not answer a TLS handshake.", ""
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
            return f"{where} does not speak TLS.", ADVICE
        return f"{where} ended the TLS handshake ({error.reason or 'connection closed'}).", ""
    except OSError:
        return f"{where} closed the connection during the TLS handshake.", ""


def by_proxy(host: str, scheme: str = "https") -> bool:
    proxies = urllib.request.getproxies()
    if not ({scheme, "all"} & proxies.keys()):
        return False
    return not urllib.request.proxy_bypass(host)
