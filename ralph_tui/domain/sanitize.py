"""Makes other people's text fit to keep and show: removes control characters and secrets, bounds the length (law 6)."""

import re

from ralph_tui.domain.redaction import redact

# Compiled when first used, because most texts are printable.
# A string that was never ended ends with its line: it must not take what follows with it.
_SEQUENCES = (
    r"\x1b\][^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\n)|$)"  # OSC: titles, clipboard, links
    r"|[\x1b][P^_X][^\x1b\x9c\n]*(?:\x1b\\|\x9c|(?=\n)|$)"  # DCS, PM, APC, SOS strings
    r"|[\x90\x98\x9d\x9e\x9f][^\x1b\x9c\x07\n]*(?:\x1b\\|\x9c|\x07|(?=\n)|$)"  # as C1 bytes
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
"""Asks for the coloured form of a sign: some terminals make that two cells wide, others one."""


def inert(text: str) -> str:
    """Remove escape sequences, control and bidi characters, keys and passwords.

    Secrets go last: a control character inside one must not hide it.
    """
    return redact(unarmed(text))


def unarmed(text: str) -> str:
    """Remove what moves or changes anything on a terminal; what a person typed themselves may hold secrets.

    Tabs and newlines stay. A sign of one cell stays one, so that frames around it hold in every terminal.
    """
    if _EMOJI_STYLE in text:
        text = text.replace(_EMOJI_STYLE, "")
    if text.isprintable():  # so are most single lines, and nothing that is taken out is printable
        return text
    text = text.replace("\r\n", "\n")
    return re.sub(_CONTROLS, "", re.sub(_SEQUENCES, "", text).replace("\r", "\n"))


def one_line(text: str, limit: int = 200) -> str:
    """Return inert text on one line of at most `limit` characters."""
    if len(text) <= limit and text.isprintable() and "  " not in text:
        flat = redact(text).strip()  # it is one already
    else:
        flat = " ".join(inert(text[: limit * 8]).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def tail(text: str, limit: int = 4000) -> str:
    """Return the end of a long inert text, with a mark where it was cut."""
    clean = inert(text[-limit * 2 :])
    return clean if len(clean) <= limit else "…" + clean[-(limit - 1) :]


def head(text: str, limit: int = 4000) -> str:
    """Return the beginning of a long inert text, with a mark where it was cut."""
    clean = inert(text[: limit * 2])
    return clean if len(clean) <= limit and len(text) <= limit * 2 else clean[: limit - 1] + "…"
