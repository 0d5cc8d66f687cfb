"""Calling somebody who looks elsewhere: the desktop notification of the terminal they have open.

There is one escape per family of terminals; others ignore what they do not know, so exactly one is sent.
"""

import os
from collections.abc import Mapping

from ralph_tui.domain.sanitize import inert, one_line

TITLE = "ralph"
LIMIT = 200
"""Characters; desktops cut what is longer."""


def notification(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """The escape that makes this terminal show a desktop notification."""
    body = one_line(inert(text), LIMIT).replace(";", ",")
    if environ.get("KITTY_WINDOW_ID") or environ.get("TERM") == "xterm-kitty":
        sent = f"\x1b]99;i={TITLE}:d=0;{TITLE}\x1b\\\x1b]99;i={TITLE}:p=body;{body}\x1b\\"
    elif environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("foot", "rxvt")):
        sent = f"\x1b]777;notify;{TITLE};{body}\x1b\\"
    else:
        sent = f"\x1b]9;{TITLE}: {body}\x1b\\"
    return _through_tmux(sent) if environ.get("TMUX") else sent


def _through_tmux(escape: str) -> str:
    """Past tmux to the terminal it is in, where its allow-passthrough lets it."""
    doubled = escape.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"
