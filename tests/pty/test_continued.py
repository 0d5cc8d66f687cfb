"""Signals that come unasked, or not at all: SIGCONT from a closed terminal, no SIGHUP from one that is not our own."""

import contextlib
import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.harness.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.serial

HEARD = 7

SHOWN = """
import os, signal, threading
from textual.app import App
from ralph_tui.tui.terminal.driver import OneReader

class Watched(App):
    def on_ready(self):
        self.app_resume_signal.subscribe(self, lambda _: self.count())
        self.count()

    def count(self):
        readers = [t for t in threading.enumerate() if t.name == "textual-input"]
        self._driver.write(f"readers {len(readers)}.")

    def on_one_reader_gone(self):
        self.exit(return_code=HEARD)

app = Watched(driver_class=OneReader)
app.run()
os._exit(app.return_code)  # no flush: the terminal may be gone
""".replace("HEARD", str(HEARD))


@pytest.fixture
def shown(tmp_path: Path) -> "pexpect.spawn[bytes]":
    environment = {**os.environ, "TERM": "xterm-256color"}
    return pexpect.spawn(
        sys.executable, ["-c", SHOWN], env=environment, dimensions=(24, 80), timeout=PATIENCE
    )


def test_one_thread_reads_the_keys_and_a_closed_terminal_leaves_no_process(
    shown: "pexpect.spawn[bytes]",
) -> None:
    process = psutil.Process(shown.pid)
    shown.expect_exact("readers 1.")
    shown.send(
        "\x1b[47:63;2;63u"
    )  # a key as kitty reports it to those who want all of it; Textual fails at it
    for _ in range(2):
        process.send_signal(signal.SIGCONT)
        assert shown.expect_exact(["readers 1.", "readers 2."]) == 0
    shown.sendcontrol("q")  # Textual's own key for the end: it is still read
    shown.expect(pexpect.EOF)
    wait_until(lambda: not shown.isalive(), what="the end of the process")


def test_a_terminal_that_closes_without_a_signal_is_told_though_nothing_is_drawn() -> None:
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    # In a session of its own the terminal is not its controlling one, so no SIGHUP comes.
    app = subprocess.Popen(
        [sys.executable, "-c", SHOWN],
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment,
        start_new_session=True,
    )
    try:
        os.close(its)
        os.set_blocking(ours, False)
        shown = bytearray()

        def stands() -> bool:
            with contextlib.suppress(BlockingIOError):
                shown.extend(os.read(ours, 1 << 16))
            return b"readers 1." in shown

        wait_until(stands, what="the screen")
        os.close(ours)
        wait_until(lambda: app.poll() is not None, what="the end of the process")
    finally:
        app.kill()
        app.wait()
    assert app.returncode == HEARD
