"""What tab offers in a real zsh, from the first tab on."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.harness.real_processes import PYTHON_HERE
from tests.harness.waiting import PATIENCE

_SETUP = (
    "PS1='(rea''dy) '; fpath=({0}/zfunc $fpath); autoload -Uz compinit; compinit -u -d {0}/dump"
)


def test_the_script_for_zsh_answers_when_it_is_loaded(tmp_path: Path) -> None:
    assert "== loadautofunc ]]" in _script(tmp_path)


@pytest.mark.serial
@pytest.mark.needs("zsh")
def test_the_first_tab_of_a_zsh_completes(tmp_path: Path) -> None:
    (tmp_path / "zfunc").mkdir()
    (tmp_path / "zfunc" / "_ralph").write_text(_script(tmp_path), encoding="utf-8")
    program = tmp_path / "ralph"
    program.write_text(f'#!/bin/sh\nexec {PYTHON_HERE} -m ralph_tui "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TERM": "xterm-256color"}
    zsh: pexpect.spawn[str] = pexpect.spawn(
        "zsh", ["-f", "-i"], cwd=str(tmp_path), env=env, encoding="utf-8", timeout=PATIENCE
    )
    try:
        zsh.sendline(_SETUP.format(tmp_path))
        zsh.expect_exact("(ready)")
        for typed, offered in (("ralph typec", "heck"), ("ralph regen", "erate-plan")):
            zsh.send(f"{typed}\t")
            zsh.expect_exact(offered)
            zsh.send("\x15")
    finally:
        zsh.close(force=True)


def _script(cwd: Path) -> str:
    env = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    command = [sys.executable, "-m", "ralph_tui", "--show-completion", "zsh"]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout
