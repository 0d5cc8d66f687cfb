"""SIGCONT that follows no suspension: from a closed terminal, or `kill -CONT`."""

import os
import signal
import sys
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.harness.waiting import wait_until

pytestmark = pytest.mark.pty

SHOWN = """
import signal, sys, threading
from textual.app import App
from ralph_tui.tui.one_reader import OneReader

class Watched(App):
    def on_ready(self):
        self.app_resume_signal.subscribe(self, lambda _: self.count())
        self.count()

    def count(self):
        readers = [t for t in threading.enumerate() if t.name == "textual-input"]
        self._driver.write(f"readers {len(readers)}.")

Watched(driver_class=OneReader).run()
"""


@pytest.fixture
def shown(tmp_path: Path) -> "pexpect.spawn[bytes]":
    environment = {**os.environ, "TERM": "xterm-256color"}
    return pexpect.spawn(sys.executable, ["-c", SHOWN], env=environment, dimensions=(24, 80))


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
