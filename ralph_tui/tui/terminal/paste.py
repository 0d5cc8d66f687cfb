"""Treats pasted text as text, never as keys.

Textual also looks for keys in pasted text: colored output pasted outside a field could skip a task, and inside a
field its pieces would arrive out of order.

Upstream: none filed.
Gain: pasted text cannot run a command, and a long line pasted into a field is cut to 5,000 characters instead of
blocking for half a minute at a hundred thousand.
"""

from ralph_tui.domain.sanitize import without_controls

START, END = "\x1b[200~", "\x1b[201~"
_ESCAPE = "\x1b"
_ESCAPE_PLACEHOLDER = "\x1a"
"""Replaces an escape while Textual searches for keys."""

LONGEST_LINE = 5_000
"""Maximum number of characters pasted into a one-line field: Textual blocks the loop for half a minute at a hundred thousand."""


class PasteFilter:
    """Hides the escapes of pasted text, in input that arrives in pieces."""

    def __init__(self) -> None:
        self._inside = False
        self._before = ""
        """A possible beginning of a marker; outside pasted text it was passed on already, inside it is held back."""

    def hide_escapes(self, data: str) -> str:
        out = ""
        while data:
            take = self._take_inside if self._inside else self._take_outside
            done, data = take(data)
            out += done
        return out

    def _take_outside(self, data: str) -> tuple[str, str]:
        seen = self._before + data
        at = seen.find(START)
        if at < 0:
            self._before = seen[-len(START) + 1 :]
            return data, ""
        cut = at + len(START) - len(self._before)
        self._inside, self._before = True, ""
        return data[:cut], data[cut:]

    def _take_inside(self, data: str) -> tuple[str, str]:
        text, end, rest = (self._before + data).partition(END)
        self._inside, self._before = not end, ""
        if not end:
            held = next((n for n in range(len(END) - 1, 0, -1) if text.endswith(END[:n])), 0)
            text, self._before = text[: len(text) - held], text[len(text) - held :]
        return text.replace(_ESCAPE, _ESCAPE_PLACEHOLDER) + end, rest


def text_of(pasted: str) -> str:
    return without_controls(pasted.replace(_ESCAPE_PLACEHOLDER, _ESCAPE))


def line_of(text: str) -> str:
    """Return pasted text joined into one line, because Textual would drop all but the first."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())
