"""Bash itself as the judge: what the guard allows is run, and must never have started `git push`.

Random scripts are put together from pieces that provoke misreadings. In the sandbox the only program
is a `git` that writes down how it was called.
"""

import os
import random
import subprocess
from pathlib import Path

import pytest

from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import Policy

PIECES = [
    "git push", "git push", "gi", "t", "git", " push", "push", "$(", ")", "`", "\\`", "'", '"', "\\",
    "\n", "\\\n", ";", "&&", "||", "|", "<<E\n", "\nE\n", "<<'E'\n", "<<<", " > f ", "${x:-", "}", "{",
    "a,", "$((", "1))", "[[ ", "]]", "if ", "true;", " then ", "fi", "case x in ", "x) ", ";;", "esac",
    "do ", "done", "for i in ", "while ", "#", " ", " ", "x=", "(", ")", "*", "$'", "\\x67it", "\\147it",
    "&", "! ", "echo ", "bash -c ", "eval ", "$x", '"$x"', "f() ", "f", "{ ", "; }", "<(", "time ",
    '$"', "cat ", "x=git;", "2>&1", "'git push'", '"git push"', "$@", "trap ", "EXIT", "export ", "a[",
    "]=", "((", "))", "@(", "|git push", "$((git push))", "\r", "\t", "-- ", "command ", "E",
    "<<-E\n", "\tE\n", "coproc ", "function g ", "select i in ",
]  # fmt: skip
SCRIPTS = int(os.environ.get("RALPH_BASH_SCRIPTS", "500"))
"""More of them in a long run: `RALPH_BASH_SCRIPTS=200000 uv run pytest tests/guard/test_bash_agrees.py`."""


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin/git"
    git.write_text('#!/bin/sh\necho "$*" >> "$CALLS"\n')
    git.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def calls_of_git(script: str, sandbox: Path) -> list[str]:
    calls = sandbox / "calls"
    calls.unlink(missing_ok=True)
    env = {"PATH": str(sandbox / "bin"), "CALLS": str(calls)}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        ["/bin/bash", "-c", script], cwd=sandbox / "work", env=env, stdin=quiet, stdout=quiet,
        stderr=quiet, start_new_session=True,
    ) as shell:  # fmt: skip
        try:
            shell.wait(2)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, 9)
    return calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash at /bin/bash")
def test_nothing_allowed_starts_git_push(sandbox: Path) -> None:
    policy = Policy(root=sandbox / "work")
    pick = random.Random(20)
    ran = 0
    for _ in range(SCRIPTS):
        script = "".join(pick.choices(PIECES, k=pick.randint(2, 9)))
        if "git" not in script or judge_command(script, policy).decision != "allow":
            continue
        ran += 1
        pushes = [call for call in calls_of_git(script, sandbox) if call.startswith("push")]
        assert not pushes, script
    assert ran > SCRIPTS // 50


def test_the_sandbox_notices_a_push(sandbox: Path) -> None:
    assert calls_of_git('g"i"t push origin', sandbox) == ["push origin"]
