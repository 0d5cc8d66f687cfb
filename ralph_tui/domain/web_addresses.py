"""Says whether notifications may be posted to a web address: encrypted, or on this machine."""

import ipaddress
import re
from urllib.parse import urlsplit

from ralph_tui.domain.variable_references import pieces

_WHOLE_HOST = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]*://[^/?#]+[/?#]")


def why_not_posted(address: str) -> str:
    """Say why nothing is posted to an address, in words that do not repeat it; empty where it may be."""
    if not (address.isascii() and address.isprintable()) or " " in address:
        return "holds a space or a character that no address may have"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "is no web address"
    if port == 0 or not parts.hostname or parts.scheme not in ("http", "https"):
        return "is no web address"
    if parts.username is not None or parts.password is not None:
        return "holds a user name or a password before the host"
    if parts.scheme == "http" and not _is_this_machine(parts.hostname):
        return "is not encrypted and leads to another machine"
    return ""


def why_not_written(text: str) -> str:
    """Say why a setting can be no address to post to; empty where it may be, whatever its variables stand for.

    Raises:
        ReferenceSyntaxError: A `${` begins no reference.
    """
    parts = pieces(text.strip())
    fixed = [part for part in parts if isinstance(part, str)]
    if not parts:
        return ""
    if len(fixed) == len(parts):
        return why_not_posted("".join(fixed))
    # Up to the first variable; with only a part of the host nothing is known yet.
    begins = parts[0] if isinstance(parts[0], str) else ""
    return why_not_posted(begins) if _WHOLE_HOST.match(begins) else ""


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
