"""One thread reads the terminal, however often the process is told to continue.

Textual begins anew at each SIGCONT, also at one that follows no suspension: the kernel sends it with the
SIGHUP of a closed terminal, `kill -CONT` from anywhere. Then two threads share the keys, and the one that
nobody remembers reads the end of a closed terminal for ever, on a whole core.
"""

from textual.drivers.linux_driver import LinuxDriver


class OneReader(LinuxDriver):
    """Textual's driver; it ends its reader before it starts another."""

    def start_application_mode(self) -> None:
        """As Textual does, from an orderly state."""
        if self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
            self._must_signal_resume = True
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual has no types here
