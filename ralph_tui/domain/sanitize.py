"""Make untrusted text safe to store and show: remove control characters and secrets, limit the length."""

import re

from ralph_tui.domain.redaction import redact

# Compiled at first use, because most texts are printable.
# An unterminated sequence ends with its line, so that it cannot swallow the text that follows.
# A string ends where another begins, so that hostile text takes linear time.
_SEQUENCES = (
    r"\x1b\][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n)|$)"  # OSC: titles, clipboard, links
    r"|[\x1b][P^_X][^\x1b\x9c\n]*(?:\x1b\\|\x9c|(?=\n)|$)"  # DCS, PM, APC, SOS strings
    r"|[\x90\x98\x9d-\x9f][^\x07\x1b\x90\x98\x9c-\x9f\n]*(?:\x1b\\|\x9c|\x07|(?=\n)|$)"  # as C1 bytes
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]?"  # any other escape
)
_CONTROLS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional overrides
    "\u200b\u2028\u2029\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


_EMOJI_STYLE = "\ufe0f"
"""Selects the colored form of a sign, which is two cells wide in some terminals and one in others."""


def inert(text: str) -> str:
    """Remove escape sequences, control and bidi characters, keys and passwords.

    Secrets are removed last, so that a control character inside one cannot hide it.
    """
    return redact(without_controls(text))


def without_controls(text: str) -> str:
    """Remove everything that controls a terminal, but not secrets, for text that the person typed.

    Tabs and newlines stay. Emoji selectors go, so that a sign has the same width in every terminal.
    """
    if _EMOJI_STYLE in text:
        text = text.replace(_EMOJI_STYLE, "")
    if text.isprintable():  # as most single lines are; nothing that is removed below is printable
        return text
    text = text.replace("\r\n", "\n")
    return re.sub(_CONTROLS, "", re.sub(_SEQUENCES, "", text).replace("\r", "\n"))


_LONGEST_SECRET = 8_192
"""The longest secret on one line, in characters."""

# The functions below clean the whole text before they cut it, because half a secret is not recognized as one.


def one_line(text: str, limit: int = 200) -> str:
    """Return inert text on one line of at most `limit` characters."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        flat = redact(text).strip()  # it is a single clean line already
    else:
        flat = " ".join(inert(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def tail(text: str, limit: int = 4000, *, is_cut: bool = False) -> str:
    """Return the end of a text, made inert, with an ellipsis if it was cut.

    If the beginning of the text is missing already (`is_cut`), the rest of its first line is left out, because the
    line may begin inside a secret.
    """
    clean = inert(text)
    if is_cut:
        clean = clean[clean.find("\n", 0, _LONGEST_SECRET) + 1 or _LONGEST_SECRET :]
    return clean if len(clean) <= limit and not is_cut else "…" + clean[-(limit - 1) :]


def head(text: str, limit: int = 4000) -> str:
    clean = inert(text)
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"
