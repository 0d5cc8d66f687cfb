"""Keys are taken out of what other processes can read of this one."""

import os
import subprocess
import sys

import pytest

from ralph_tui.guard.sandbox.environ_block import visible_keys, without_keys

KEY = "the-key-of-the-person"

PROGRAM = """
import os, subprocess
from ralph_tui.guard.sandbox.environ_block import blank_keys
blank_keys()
print(open("/proc/self/environ").read().replace("\\0", "\\n"))
print("own", os.environ["SOME_TOKEN"])
print("child", subprocess.run("echo $SOME_TOKEN", shell=True, capture_output=True, text=True).stdout)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_process_shows_no_key_and_keeps_it_for_itself_and_its_children() -> None:
    environment = {**os.environ, "SOME_TOKEN": KEY, "HARMLESS": "kept"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert f"SOME_TOKEN={'*' * len(KEY)}" in lines
    assert "HARMLESS=kept" in lines
    assert f"own {KEY}" in lines
    assert f"child {KEY}" in lines


HIDDEN = """
import ctypes, os
from ralph_tui.guard.sandbox.environ_block import blank_keys
os.getuid() or os.setuid(65534)
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: only root may read this process's environment
blank_keys()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_where_the_own_environment_may_not_be_read_nothing_fails() -> None:
    subprocess.run([sys.executable, "-c", HIDDEN], check=True)


def test_which_variables_are_keys() -> None:
    environment = {"A_TOKEN": "x", "B_KEY": "***", "EMPTY_KEY": "", "PATH": "/bin"}
    assert visible_keys(environment) == ("A_TOKEN",)
    assert without_keys(environment) == {"PATH": "/bin"}
