"""Whether the sandbox works here is tried through its whole chain."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.guard.sandbox.environment import SHIMS
from ralph_tui.guard.sandbox.os_sandbox import GONE, sandbox_for, sandbox_problem


def broken(directory: Path, program: str, when: str) -> str:
    """A PATH in which a program fails when its first argument looks like `when`."""
    directory.mkdir()
    real = shutil.which(program)
    text = f'#!/bin/sh\ncase $1 in {when}) echo broken >&2; exit 1;; esac\nexec {real} "$@"\n'
    (directory / program).write_text(text, encoding="utf-8")
    (directory / program).chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


@pytest.mark.needs("sandbox")
@pytest.mark.parametrize(
    ("program", "when", "said"),
    [
        ("socat", "UNIX-LISTEN*", "socat does not work (broken)"),
        ("socat", "TCP-LISTEN*", "socat does not work in the sandbox"),
        ("bwrap", "--*", "bwrap does not work on this system (broken)"),
    ],
)
def test_a_program_that_is_there_but_broken_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, when: str, said: str
) -> None:
    monkeypatch.setenv("PATH", broken(tmp_path / "bin", program, when))
    assert sandbox_problem().startswith(said)


@pytest.mark.parametrize("writable", [True, False])
def test_a_command_of_the_agent_does_not_run_where_the_sandbox_is_gone(
    tmp_path: Path, *, writable: bool
) -> None:
    witness = str(tmp_path if writable else tmp_path / "held")
    environment = {
        **os.environ,
        "RALPH_GUARD_SHIMS": str(SHIMS),
        "RALPH_GUARD_WITNESS": witness,
    }
    script = f'. "{SHIMS}/every_command.sh" && echo it ran'
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert ("it ran" in done.stdout) is not writable
    assert (done.returncode, done.stderr.startswith(GONE)) == (
        (126, True) if writable else (0, False)
    )


@pytest.mark.needs("sandbox")
def test_a_check_sees_ralph_where_it_lies_below_the_temporary_directory(tmp_path: Path) -> None:
    shutil.copytree(SHIMS.parents[2], tmp_path / "ralph_tui")
    script = """
import subprocess, sys, ralph_tui
from pathlib import Path
from ralph_tui.guard.sandbox.os_sandbox import SandboxAccess, sandbox_for, sandbox_prefix
root, scratch = Path(sys.argv[1]), Path(sys.argv[2])
prefix = sandbox_prefix(sandbox_for(root, root, {}), root, SandboxAccess(scratch, {}))
sys.exit(subprocess.call([*prefix, "/usr/bin/test", "-f", ralph_tui.__file__]))
"""
    for name in ("project", "scratch"):
        (tmp_path / name).mkdir()
    words = [sys.executable, "-c", script, str(tmp_path / "project"), str(tmp_path / "scratch")]
    environ = {**os.environ, "PATH": f"/{'x' * 300}:{os.environ['PATH']}"}  # as one that is closed
    assert subprocess.run(words, cwd=tmp_path, env=environ, check=False).returncode == 0


def test_a_home_that_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    assert sandbox_for(tmp_path, Path("/proc/none"), {}).allow_write == ()
