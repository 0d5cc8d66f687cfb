"""Reads the terminal in one thread, however often the process is told to continue.

Textual starts a new reader at each SIGCONT, also at one that follows no suspension: the kernel sends it with the
SIGHUP of a closed terminal, `kill -CONT` from anywhere. Then two threads share the keys, and the one that
nobody remembers reads the end of a closed terminal forever.

Upstream: Textualize/textual#6690 (end of input, open), #6456 and #6668 (bytes that are no UTF-8, open); none
filed for SIGCONT.
Gain: no lost keys, no frozen screen, and not a whole core for as long as the process of a closed terminal lives.
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

from ralph_tui.tui.terminal.paste import PasteFilter, text_of

LOOK_SECONDS = 0.1
"""Seconds between two checks whether to end, and whether an Escape was a key."""


class OneReader(LinuxDriver):
    """Textual's driver, which ends its reader before it starts another, and takes pasted text for text."""

    class Gone(Message):
        """The terminal was closed."""

    def run_input_thread(self) -> None:
        """Read input as Textual does; but invalid bytes, as from an old mouse, do not end the screen."""
        pasted = PasteFilter()
        self._parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            ending = False
            while not ending:
                ending = self.exit_event.is_set()  # what has come until then is read
                if selector.select(LOOK_SECONDS):
                    data = self._read()
                    if not data:  # while nothing is drawn nobody else would notice
                        self.process_message(self.Gone())
                        return
                    if text := pasted.hidden(decode(data)):
                        self._take(self._parser.feed(text))
                self._take(self._parser.tick())

    def _read(self) -> bytes:
        """Return what has come; nothing when the terminal is gone."""
        try:
            return os.read(self.fileno, 4096)
        except OSError:
            return b""

    def _take(self, messages: Iterable[Message]) -> None:
        found: list[Message] = []
        try:
            found.extend(messages)
        except ValueError:  # a key in a form that Textual does not know is none, and not the end
            self._parser = XTermParser(self._debug)
        for message in found:
            if isinstance(message, Paste):
                message.text = text_of(message.text)
            self.process_message(message)

    def start_application_mode(self) -> None:
        """Start as Textual does, after ending a reader that still runs."""
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
            self._must_signal_resume = True
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no types here


def with_one_reader(chosen: type[Driver]) -> type[Driver]:
    """Return the driver to use in the place of the one that Textual chose."""
    return OneReader if chosen is LinuxDriver else chosen
