"""Checks that the CLI's `https` address really speaks TLS.

If it does not, the CLI stays silent until its timeout. Only an address that the person configured is
checked, and only by a handshake.
"""

import os
import socket
import ssl
import urllib.request
from collections.abc import Mapping
from urllib.parse import urlsplit

from ralph_tui.domain.errors import SetupError

VARIABLE = "ANTHROPIC_BASE_URL"

SECONDS = 5.0
"""The timeout of the connection and of the handshake."""

ADVICE = f"Correct {VARIABLE}. An https:// address needs a port that speaks TLS. A local gateway often uses http://."


def require_tls(environ: Mapping[str, str] = os.environ) -> None:
    """Refuse an `https` address that certainly does not speak TLS. Blocks."""
    problem, certain = tls_problem(environ)
    if problem and certain:
        raise SetupError(problem, ADVICE)


def tls_problem(environ: Mapping[str, str]) -> tuple[str, bool]:
    """Return a sentence on what is wrong with TLS at the address, or an empty string, and whether it is certain. Blocks."""
    url = environ.get(VARIABLE, "").strip()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        return "", False  # the CLI reports an invalid address
    if parts.scheme != "https" or not host or by_proxy(host):
        return "", False
    try:
        with socket.create_connection((host, port), SECONDS) as plain:
            return _handshake(plain, host, f"{host}:{port}")
    except (OSError, UnicodeError):
        return "", False  # the CLI reports a failed connection


def _handshake(plain: socket.socket, host: str, where: str) -> tuple[str, bool]:
    context = ssl.create_default_context()
    # Certificates are the CLI's concern; no data is sent here.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with context.wrap_socket(plain, server_hostname=host):
            return "", False
    except TimeoutError:
        return f"{where} does not answer a TLS handshake.", False
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"):
            return f"{where} does not speak TLS.", True
        return f"{where} ended the TLS handshake ({error.reason or 'connection closed'}).", False
    except OSError:
        return f"{where} closed the connection during the TLS handshake.", False


def by_proxy(host: str, scheme: str = "https") -> bool:
    proxies = urllib.request.getproxies()
    if not ({scheme, "all"} & proxies.keys()):
        return False
    return not urllib.request.proxy_bypass(host)
