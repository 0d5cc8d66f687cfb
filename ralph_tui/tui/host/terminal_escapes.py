"""Escape sequences beside the screen: desktop notifications and the window's title."""

import os
from collections.abc import Mapping

from ralph_tui.domain.sanitize import inert, one_line

KEEP_TITLE, OLD_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""Save the terminal's title, and restore it."""

_SENDER = "ralph"
_LONGEST = 200
"""Characters of a notification; desktops cut longer ones."""


def notification(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the escape that makes this terminal show a desktop notification.

    Each family of terminals has its own; terminals ignore an escape they do not know, so one is enough.
    """
    body = one_line(inert(text), _LONGEST).replace(";", ",")
    if environ.get("KITTY_WINDOW_ID") or environ.get("TERM") == "xterm-kitty":
        sent = f"\x1b]99;i={_SENDER}:d=0;{_SENDER}\x1b\\\x1b]99;i={_SENDER}:p=body;{body}\x1b\\"
    elif environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("foot", "rxvt")):
        sent = f"\x1b]777;notify;{_SENDER};{body}\x1b\\"
    else:
        sent = f"\x1b]9;{_SENDER}: {body}\x1b\\"
    return _through_tmux(sent) if environ.get("TMUX") else sent


def _through_tmux(escape: str) -> str:
    """Wrap an escape so that tmux passes it to its terminal, if allow-passthrough permits."""
    doubled = escape.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def window_title(title: str) -> str:
    return f"\x1b]0;{title}\x07"
