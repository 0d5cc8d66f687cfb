"""Whether a screen can open where this command was given."""

import os
import sys


def no_screen() -> str | None:
    """Why the screen cannot open here; None when it can."""
    if "web_driver" in os.environ.get("TEXTUAL_DRIVER", ""):
        return None  # a page of `ralph serve`
    for stream, name in ((sys.stdout, "standard output"), (sys.stdin, "standard input")):
        if stream is None or not stream.isatty():
            return f"{name} is not a terminal"
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return f"the terminal cannot show a screen (TERM={term or 'not set'})"
    return None
