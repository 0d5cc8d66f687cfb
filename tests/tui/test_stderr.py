"""Stray writes to file descriptor 2 stay off the screen and are said afterwards; the real app on a real terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

STRAY = """
import os, sys
from ralph_tui.tui.terminal.writer import quiet_stderr
with quiet_stderr():
    os.write(2, b"stray \\x1b]0;gone\\x07 bytes")
    sys.__stderr__.write("picture")
"""

APP = """
import os, sys
from tests.tui import feed
from tests.tui.conftest import script_of
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.app.app import show
script = script_of(feed.stopped())
warm = script._warm_up
def noisy():
    os.write(2, b"noise from a native library")
    os.write(1, b"warmed up")
    warm()
script._warm_up = noisy
code = show(RalphApp(script.launch, autostart=True))
sys.stdout.write(f"status {code}")
"""


def test_strays_are_kept_and_said_inert_at_the_end() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STRAY], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stderr.startswith("picture")
    assert "stray  bytes" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.serial
def test_the_app_runs_on_a_terminal_and_returns_the_loops_status() -> None:
    environ = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    child = pexpect.spawn(
        sys.executable,
        ["-c", APP],
        cwd=str(REPOSITORY),
        env=environ,
        dimensions=(40, 120),
        encoding="utf-8",
        timeout=60,
    )
    try:
        child.expect("The circuit breaker opened")
        child.expect("warmed up")  # a while after the first paint
        child.send("q")
        child.expect("noise from a native library")
        child.expect("status 1")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)
