"""Check whether notifications may be posted to a URL: it must be encrypted or on this machine."""

import ipaddress
import re
from urllib.parse import urlsplit

from ralph_tui.domain.variable_references import pieces

_WHOLE_HOST = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+[/?#]")


def why_not_posted(address: str) -> str:
    """Return why nothing may be posted to an address, or an empty string if it may.

    The reason never repeats the address, which may hold a secret.
    """
    if not (address.isascii() and address.isprintable()) or " " in address:
        return "contains a space or an invalid character"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "is not a web address"
    if port == 0 or not parts.hostname or parts.scheme not in ("http", "https"):
        return "is not a web address"
    if parts.username is not None or parts.password is not None:
        return "contains a user name or password"
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        return "is not encrypted and leads to another machine"
    return ""


def why_not_written(text: str) -> str:
    """Return why a setting cannot be an address to post to, or an empty string if it can.

    Only the part before the first variable reference is checked.
    """
    parts = pieces(text.strip())
    fixed = [part for part in parts if isinstance(part, str)]
    if not parts:
        return ""
    if len(fixed) == len(parts):
        return why_not_posted("".join(fixed))
    # If a variable interrupts the host, nothing can be checked yet.
    start = parts[0] if isinstance(parts[0], str) else ""
    return why_not_posted(start) if _WHOLE_HOST.match(start) else ""


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
