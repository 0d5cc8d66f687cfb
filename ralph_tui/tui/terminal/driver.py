"""Reads the terminal in a single thread, however often the process receives SIGCONT.

Textual starts a new reader at each SIGCONT, even if the process was not suspended: the kernel sends one with the
SIGHUP of a closed terminal, and anybody can send one with `kill -CONT`. Then two threads share the keys, and the
forgotten one reads the end of a closed terminal forever.

Upstream: Textualize/textual#6690 (end of input, open), #6456 and #6668 (bytes that are not UTF-8, open); none
filed for SIGCONT.
Gain: no lost keys, no frozen screen, and no core kept busy while the process of a closed terminal lives.
"""

import os
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

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


POLL_SECONDS = 0.1
"""Seconds between checks for the exit event and for a lone Escape."""


class OneReader(LinuxDriver):
    """Textual's driver, except that it ends its reader before it starts another, and never reads keys in pasted text."""

    class Gone(Message):
        """The terminal was closed."""

    def run_input_thread(self) -> None:
        """Read input as Textual does, but survive invalid bytes, such as those of an old mouse protocol."""
        pasted = PasteFilter()
        self._parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            ending = False
            while not ending:
                ending = self.exit_event.is_set()  # read once more what has arrived by then
                if selector.select(POLL_SECONDS):
                    data = self._read()
                    if not data:  # while nothing is drawn, nothing else notices
                        self.process_message(self.Gone())
                        return
                    if text := pasted.hide_escapes(decode(data)):
                        self._take(self._parser.feed(text))
                self._take(self._parser.tick())

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def _take(self, messages: Iterable[Message]) -> None:
        found: list[Message] = []
        try:
            found.extend(messages)
        except ValueError:  # ignore a key sequence that Textual does not know
            self._parser = XTermParser(self._debug)
        for message in found:
            if isinstance(message, Paste):
                message.text = text_of(message.text)
            self.process_message(message)

    def start_application_mode(self) -> None:
        """Start as Textual does, but first end a reader that still runs."""
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
            self._must_signal_resume = True
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no types here


def with_one_reader(chosen: type[Driver]) -> type[Driver]:
    """Return the driver to use instead of the one that Textual chose."""
    return OneReader if chosen is LinuxDriver else chosen
