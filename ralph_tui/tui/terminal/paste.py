"""Takes pasted text for text, never for keys.

Textual looks for keys in it, too: colored output that was pasted where nobody types would skip a task, and in
a field its pieces would change their order.

Upstream: none filed.
Gain: what is pasted cannot run a command; a long line pasted into a field takes 5,000 characters at once instead
of half a minute for a hundred thousand.
"""

from ralph_tui.domain.sanitize import unarmed

START, END = "\x1b[200~", "\x1b[201~"
_ESCAPE = "\x1b"
_STANDS_FOR_IT = "\x1a"
"""Represents an escape while Textual searches for keys."""

LONGEST_LINE = 5_000
"""Most characters pasted into a field of one line: Textual needs half a minute for a hundred thousand, and the loop waits."""


class PasteFilter:
    """Hides the escapes of pasted text, in input that comes in pieces."""

    def __init__(self) -> None:
        """Begin outside a pasted text."""
        self._inside = False
        self._before = ""
        """What may be the beginning of a marker: passed on already outside, held back inside."""

    def hidden(self, data: str) -> str:
        """Return the input without the escapes of pasted text."""
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
        return text.replace(_ESCAPE, _STANDS_FOR_IT) + end, rest


def text_of(pasted: str) -> str:
    """Return pasted text without colors and control characters."""
    return unarmed(pasted.replace(_STANDS_FOR_IT, _ESCAPE))


def line_of(text: str) -> str:
    """Return pasted text as one line; Textual takes the first line and drops the rest."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip())
